"""The worked examples of the how-to pages do what their pages say."""

from __future__ import annotations

import pytest

from docs.examples import dialect, family, oracle, schedule
from fuzzer.history.records import Exchange, Level, Message, Prompt
from fuzzer.plan import Endpoint
from fuzzer.prompts import FAMILIES, PromptPool, check
from fuzzer.prompts.checks.found import strings
from fuzzer.prompts.draws import Draws
from fuzzer.sim.config import SimConfig
from fuzzer.sim.process import SimServer
from fuzzer.wire.client import Client
from fuzzer.wire.metrics import parse_counters
from fuzzer.wire.params import Params
from tests.oracles.factory import World, exchange, prompt
from tests.traffic.bench import bench, ids, setting

(TWO_CODES,) = family.FAMILIES


# --- the family


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    """The family stands among the others, as it would in the package."""
    monkeypatch.setitem(FAMILIES, TWO_CODES.name, TWO_CODES)


def made(index: int, level: Level) -> Prompt:
    return TWO_CODES.generate(Draws(1, "p", index), f"p{index:06d}", level)


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize("level", TWO_CODES.levels)
def test_the_family_knows_right_from_wrong(level: Level) -> None:
    asked, other = made(0, level), made(1, level)
    assert check(asked, asked.answer).value == "right"
    assert check(asked, f"Sure!\n\n{asked.answer}\n\nAnything else?").value == "verbose"
    foreign = check(asked, other.answer)
    assert (foreign.value, foreign.sub_kind) == ("wrong", "another-question")
    first, second = strings(asked.spec["value"])
    swapped = asked.answer.replace(f"{first}, {second}", f"{second}, {first}")
    assert check(asked, swapped).sub_kind == "wrong-value"


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize("level", TWO_CODES.levels)
def test_the_family_takes_no_part_of_the_question_for_an_answer(level: Level) -> None:
    asked = made(0, level)
    question = asked.messages[-1].content
    for end in range(0, len(question), 7):
        assert not check(asked, question[:end], finish_reason="length").passed


@pytest.mark.usefixtures("known")
def test_a_pool_asks_the_family_by_name() -> None:
    pool = PromptPool(3, [TWO_CODES.name])
    asked = [pool.prompt(index) for index in range(60)]
    assert {each.family for each in asked} == {TWO_CODES.name}
    assert {each.level for each in asked} == set(TWO_CODES.levels)
    assert len({each.answer for each in asked}) == 60


# --- the oracle

LEFT = prompt("left", answer="The harbour of Larkwood lies north.")
RIGHT = prompt("right", user="Which mill stands there?", answer="The mill of Hazelgate stands there.")


def test_the_oracle_finds_one_reply_to_two_questions() -> None:
    world = World((LEFT, RIGHT), (exchange("left", LEFT.answer), exchange("right", LEFT.answer, index=1)))
    (found,) = oracle.judge(world.batch, world.context())
    assert (found.key, found.certainty) == ("bleed/same-reply@candidate", "likely")
    assert (found.prompt, found.evidence["other"]) == ("right", world.batch[0].key)


@pytest.mark.parametrize(
    "other",
    [
        exchange("right", RIGHT.answer, index=1),
        exchange("left", LEFT.answer, index=1),
        exchange("right", LEFT.answer, index=1, arm="reference"),
        exchange("right", LEFT.answer, index=1, outcome="disconnect"),
    ],
    ids=["another reply", "the same question", "the other endpoint", "no usable reply"],
)
def test_the_oracle_is_silent_where_nothing_is_wrong(other: Exchange) -> None:
    world = World((LEFT, RIGHT), (exchange("left", LEFT.answer), other))
    assert list(oracle.judge(world.batch, world.context())) == []


# --- the schedule


@pytest.mark.anyio
async def test_the_schedule_fills_every_slot_twice_and_drains() -> None:
    releases = list(schedule.back_to_back(ids(16), setting(4)))
    assert [len(list(release.sends)) for release in releases] == [8, 8]
    assert schedule.SHAPE.victims is not None
    assert schedule.SHAPE.victims(4) == 8
    assert not schedule.SHAPE.steady
    async with bench() as stand:
        judged = await stand.drive(releases, 4)
        assert len([each for each in judged if each.ok]) == 16
        assert (await stand.seen()).most == 4
        assert stand.stage.share_at_n == 1.0


# --- the dialect


@pytest.mark.anyio
async def test_the_dialect_asks_greedily_and_is_answered() -> None:
    question = (Message(role="user", content="What is the code word? The code word is QX7K-M2PD."),)
    body = dialect.ACME.body("sim-model", question, Params(max_tokens=20, cache="cold"))
    assert body.items() >= {"temperature": 0, "top_k": 0, "use_prefix_cache": False}.items()
    async with SimServer(SimConfig()) as server:
        endpoint = Endpoint(name="candidate", url=server.url, model="sim-model")
        async with Client(endpoint, dialect.ACME, timeout=30) as client:
            received = await client.ask(question, Params(max_tokens=20))
    assert (received.outcome, received.text) == ("ok", "QX7K-M2PD")


def test_the_dialect_reads_the_engines_counters() -> None:
    page = b"acme_draft_tokens_total 42\nacme_running 3\n"
    told = parse_counters(page, dialect.ACME.counters.mapping())
    assert (told.draft_tokens, told.running) == (42, 3)
