"""The strategies that users build their own property tests on."""

from __future__ import annotations

import itertools
import json
import random
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fuzzer.errors import UsageError
from fuzzer.history.records import PLAIN, Message, Prompt
from fuzzer.prompts import FAMILIES, check, strategies
from fuzzer.prompts.canary import occurs
from fuzzer.prompts.edges import LENGTHS, PIECES, Edge, text_of, wrap
from fuzzer.prompts.strategies import make
from tests.prompts.crossing import passes_for, right_alone
from tests.prompts.dress import question
from tests.prompts.samples import told
from tests.prompts.strategies import KINDS
from tests.prompts.styles import core, marks, render

LOADED = [HealthCheck.too_slow]  # the machine may be busy: nothing here is timed
EASY = make("code-word", "easy", 2)
HARD = make("sort", "hard", 1)


@given(strategies.prompts(families=["echo", "sort"], levels=["hard"]))
@settings(max_examples=20, deadline=None, suppress_health_check=LOADED)
def test_prompts_are_of_the_families_and_levels_asked_for(prompt: Prompt) -> None:
    assert prompt.family in ("echo", "sort")
    assert prompt.level == "hard"


def test_what_is_unknown_is_refused_by_name() -> None:
    with pytest.raises(UsageError, match=r"'ecko'.*code-word"):
        strategies.prompts(families=["ecko"])
    with pytest.raises(UsageError, match="no family has any of the levels"):
        strategies.prompts(levels=[])


def own_marks_stand_in(prompt: Prompt) -> bool:
    return all(occurs(canary.text, prompt.text) for canary in prompt.canaries)


@given(st.sampled_from(strategies.KINDS).flatmap(lambda kind: strategies.wrapped(make(*kind, 1))))
@settings(max_examples=100, deadline=None, suppress_health_check=LOADED)
def test_a_wrapped_prompt_is_answered_as_before(wrapped: Prompt) -> None:
    plain = make(wrapped.family, wrapped.level, 1)
    assert wrapped.text != plain.text
    assert wrapped.messages[0].role == plain.messages[0].role
    assert question(plain) in question(wrapped)
    assert right_alone(wrapped)
    assert not passes_for(wrapped, make(wrapped.family, wrapped.level, 2))
    assert own_marks_stand_in(wrapped)
    assert wrapped.spec["edge"]


@given(strategies.conversations())
@settings(max_examples=60, deadline=None, suppress_health_check=LOADED)
def test_a_conversation_asks_its_own_question_last(prompt: Prompt) -> None:
    assert right_alone(prompt)
    roles = [message.role for message in prompt.messages if message.role in ("user", "assistant")]
    assert all(one != other for one, other in itertools.pairwise(roles) if prompt.wants == PLAIN)
    earlier = [message.content for message in prompt.messages if message.role == "assistant"]
    for said in {answer for answer in earlier if answer and answer not in prompt.answer and answer != "Yes."}:
        assert not check(prompt, said).passed
    assert own_marks_stand_in(prompt)


@given(strategies.recipes(), st.text(max_size=20))
@settings(max_examples=60, deadline=None, suppress_health_check=LOADED)
def test_a_recipe_gives_the_same_prompt_twice_and_no_reply_breaks_its_check(
    recipe: strategies.Recipe, said: str
) -> None:
    prompt = recipe.make(3, 7, "z000007")
    assert recipe.make(3, 7, "z000007").model_dump_json() == prompt.model_dump_json()
    assert right_alone(prompt)
    for reply in (said, "Noted.", "{}", '{"name": 1}', prompt.answer[::-1]):
        assert check(prompt, reply).value in ("right", "verbose", "wrong", "none")


@given(strategies.recipes(families=list(dict(KINDS))), st.integers(0, 99))
@settings(max_examples=150, deadline=None, suppress_health_check=LOADED)
def test_whatever_stands_around_the_question_its_answer_may_be_said_in_any_style(
    recipe: strategies.Recipe, seed: int
) -> None:
    prompt = recipe.make(3, seed, "z")
    said = render(prompt, core(prompt), marks(prompt), random.Random(seed))
    assert check(prompt, said.text).passed, told(prompt, said)


def test_the_system_message_is_emptied_only_where_nothing_in_it_is_needed() -> None:
    silent = [strategies.Recipe(*kind, silent=True).make(1, index, "z") for index, kind in enumerate(strategies.KINDS)]
    emptied = [prompt for prompt in silent if prompt.messages[0].content == ""]
    assert {prompt.family for prompt in emptied} >= {"lookup", "sort", "echo"}
    assert all("system" not in prompt.elicits for prompt in emptied)
    assert all(canary.channel != "system" for prompt in emptied for canary in prompt.canaries)


@given(strategies.edge_texts())
@settings(max_examples=100, deadline=None, suppress_health_check=LOADED)
def test_edge_texts_are_never_empty_and_can_be_sent(text: str) -> None:
    assert text
    assert json.loads(json.dumps(text.encode().decode())) == text


@pytest.mark.parametrize("length", LENGTHS)
def test_lengths_lie_on_and_beside_the_sizes_of_blocks(length: int) -> None:
    assert len(text_of(Edge("words", length=length), random.Random(1)).split()) == length
    assert min(abs(length - block) for block in (1, 2, 16, 32, 64, 128, 256, 512, 1024)) <= 1


def test_there_are_edges_of_every_kind() -> None:
    everything = "".join(piece for pieces in PIECES.values() for piece in pieces)
    for sign in (
        "\u200d",
        "\ufe0f",
        "\U0001f1e9\U0001f1ea",
        "\u05e9",
        "\u0645",
        "\u0301",
        "\u200b",
        "\u00a0",
        "世",
        "\n",
    ):
        assert sign in everything


def test_an_edge_text_can_go_into_the_system_message_or_a_turn() -> None:
    edge = Edge("emoji", ("😀",))
    assert "😀" in wrap(HARD, edge, "system", random.Random(1)).messages[0].content
    turned = wrap(EASY, edge, "turn", random.Random(1))
    assert "😀" in turned.messages[1].content
    assert check(turned, turned.messages[2].content).sub_kind == "wrong-last-message"


@given(strategies.chats())
@settings(max_examples=40, deadline=None, suppress_health_check=LOADED)
def test_chats_are_well_formed(chat: tuple[Message, ...]) -> None:
    roles = [message.role for message in chat]
    assert roles[-1] == "user"
    turns = roles[1:] if roles[0] == "system" else roles
    assert turns == ["user", "assistant"] * (len(turns) // 2) + ["user"]


@given(st.data())
@settings(max_examples=60, deadline=None, suppress_health_check=LOADED)
def test_request_parameters_leave_room_for_the_answer_and_do_not_stop_inside_it(data: st.DataObject) -> None:
    parameters = data.draw(strategies.request_parameters(HARD.answer))
    assert parameters["temperature"] == 0
    limit, stops = parameters.get("max_tokens"), parameters.get("stop")
    assert limit is None or (isinstance(limit, int) and limit >= len(HARD.answer))
    assert stops is None or (isinstance(stops, list) and all(str(stop) not in HARD.answer for stop in stops))


@given(strategies.stops_inside(HARD.answer))
def test_a_stop_string_inside_the_answer_cuts_it(stop: str) -> None:
    cut = HARD.answer[: HARD.answer.index(stop)]
    assert 0 < len(cut) < len(HARD.answer)
    assert not check(HARD, cut).passed


def test_an_answer_of_one_word_has_no_inside() -> None:
    with pytest.raises(ValueError, match="no second word"):
        strategies.stops_inside("17")


def test_nothing_else_imports_hypothesis() -> None:
    program = "import sys, fuzzer.cli, fuzzer.prompts, fuzzer.prompts.fuzz; print('hypothesis' in sys.modules)"
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert printed.stdout.strip() == "False"


def test_every_family_is_drawn() -> None:
    assert {name for name, _ in strategies.KINDS} == set(FAMILIES)
