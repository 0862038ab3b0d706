"""From a failing gate to a script for the tracker, on simulated servers: bundle, replay, shrink, reproduce."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from typer.testing import CliRunner

from fuzzer.cli.app import app
from fuzzer.errors import UnavailableError, UsageError
from fuzzer.events import RunFinished, RunStarted
from fuzzer.finding import Kind
from fuzzer.history.records import Received
from fuzzer.history.schedule import Overrides, Send
from fuzzer.plan import Endpoint, Plan, Policy
from fuzzer.prompts.strategies import make
from fuzzer.repro import whole
from fuzzer.repro.acceptance import Budget
from fuzzer.repro.bundle import BUNDLE, Bundle, Tally, read_bundle
from fuzzer.repro.cohort import as_victim
from fuzzer.repro.collect import BUNDLES, MOST, BundleFiles, bundle_run, wanted
from fuzzer.repro.known import known
from fuzzer.repro.play import playing
from fuzzer.repro.presets import Leg, Preset
from fuzzer.repro.reduce import Reduced, reduce
from fuzzer.repro.replay import Replayed, replay
from fuzzer.repro.sweep import Reproduction, Wanted, reproduce
from fuzzer.repro.writing import write
from fuzzer.run import Run, gate
from fuzzer.sim.config import SimConfig
from fuzzer.sim.process import SimServer

from .factory import bundle, cohort, pair

SEED = 3
FAULTY = SimConfig(speculative=True, seed=SEED, faults={"last-message-swap": 0.9})


@dataclass(frozen=True)
class Servers:
    """A faulty candidate, a reference, and a candidate without the fault; and a run of the first two that failed."""

    portal: BlockingPortal
    faulty: Endpoint
    reference: Endpoint
    clean: Endpoint
    run: Run

    @property
    def bundle(self) -> Path:
        """The surest bundle."""
        return next(self.run.directory.joinpath(BUNDLES).glob("bleed-concurrent-user-*[0-9a-f]"))

    def plan(self, candidate: Endpoint) -> Plan:
        """A small gate."""
        return Plan(
            candidates=(candidate,),
            references=(self.reference,),
            concurrency=(1, 4),
            schedules=("rounds",),
            families=("code-word", "echo"),
            seed=SEED,
            policy=Policy(requests=16, control_requests=4),
        )

    def replay(self, bundle: Bundle, endpoint: Endpoint, times: int | None = None) -> Replayed:
        """What a replay says."""
        return self.portal.call(replay, bundle, endpoint, times)

    def reduce(self, bundle: Bundle, endpoint: Endpoint, budget: Budget, state: Path | None = None) -> Reduced:
        """What a reduction comes to."""
        return self.portal.call(
            partial(reduce, bundle, endpoint, self.reference, budget, state=state, tell=lambda _: None)
        )


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    with ExitStack() as stack:
        portal = stack.enter_context(start_blocking_portal())
        configs = (FAULTY, SimConfig(seed=SEED), SimConfig(speculative=True, seed=SEED))
        up = [stack.enter_context(portal.wrap_async_context_manager(SimServer(config))) for config in configs]
        faulty, clean = (Endpoint(name="candidate", url=server.url) for server in (up[0], up[2]))
        reference = Endpoint(name="reference", url=up[1].url)
        blank = Servers(portal, faulty, reference, clean, None)  # type: ignore[arg-type]  # the run is made with it
        out = tmp_path_factory.mktemp("runs")
        run = portal.call(partial(gate, blank.plan(faulty), out=out, run_id="failed", listeners=[BundleFiles()]))
        yield Servers(portal, faulty, reference, clean, run)


def test_a_gate_that_fails_leaves_small_bundles(servers: Servers) -> None:
    assert servers.run.summary.exit_status == 1
    made = [path for path in (servers.run.directory / BUNDLES).iterdir() if path.is_dir()]
    assert 1 <= len(made) <= MOST
    keys = {read_bundle(path).key for path in made}
    assert keys <= {group.key for group in servers.run.summary.findings if group.arm == "candidate"}
    assert "bleed/concurrent/user@candidate" in keys
    for path in made:
        assert path.with_name(f"{path.name}.zip").stat().st_size < 300_000


def test_a_bundle_holds_the_victim_its_donor_and_what_both_arms_said(servers: Servers) -> None:
    bundle = read_bundle(servers.bundle)
    victim = bundle.cohort.sends[bundle.cohort.victim]
    assert bundle.finding.prompt == victim.prompt
    assert bundle.finding.donor is not None
    assert bundle.finding.donor.prompt in bundle.cohort.asked
    asked = [message.content for message in bundle.cohort.asked[victim.prompt].messages]
    messages = bundle.bodies[bundle.cohort.victim]["messages"]
    assert isinstance(messages, list)
    assert [message["content"] for message in messages if isinstance(message, dict)] == asked
    assert {item.sent.arm for item in bundle.seen} == {"candidate", "reference"}
    assert {stage.arm for stage in bundle.stages} == {"candidate", "reference"}
    assert bundle.rate.n >= bundle.rate.k >= 1
    assert bundle.rate.low < bundle.rate.k / bundle.rate.n < bundle.rate.high or bundle.rate.k == bundle.rate.n


def test_a_run_whose_texts_are_not_to_be_shared_leaves_none(servers: Servers) -> None:
    summary = servers.run.summary
    assert wanted(summary)
    assert not wanted(summary.model_copy(update={"redacted": True}))
    assert not wanted(summary.model_copy(update={"exit_status": 3}))


def test_ordinary_words_in_headers_cost_a_failing_run_no_bundle(servers: Servers, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(servers.run.directory, tmp_path / "run"))
    kept = {path.name: read_bundle(path) for path in (copy / BUNDLES).iterdir() if path.is_dir()}
    shutil.rmtree(copy / BUNDLES)
    words = {"User-Agent": "specfuzz nightly job", "X-Purpose": "inference candidate checks", "X-Token": "victim"}
    plan = servers.plan(servers.faulty.model_copy(update={"headers": words | {"X-Key": "messages"}}))
    made = bundle_run(copy, servers.run.summary, plan=plan)
    assert {path.name: read_bundle(path).cohort.judged for path in made} == {
        name: bundle.cohort.judged for name, bundle in kept.items()
    }


def test_bundles_that_cannot_be_written_cost_one_line_and_not_the_run(
    servers: Servers, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = Path(shutil.copytree(servers.run.directory, tmp_path / "run"))
    shutil.rmtree(copy / BUNDLES)
    (copy / BUNDLES).write_text("in the way", encoding="utf-8")
    listener = BundleFiles()
    listener(RunStarted("failed", str(copy), servers.plan(servers.faulty), resumed=False))
    listener(RunFinished(servers.run.summary))
    said = capsys.readouterr().err
    assert said.startswith("specfuzz: no bundles of this run: ")
    assert len(said.splitlines()) == 1


def test_a_replay_says_reproduced_gone_or_too_few(servers: Servers) -> None:
    bundle = read_bundle(servers.bundle)
    rare = bundle.model_copy(update={"rate": Tally.of(1, 500, "answers")})
    still, gone = servers.replay(bundle, servers.faulty, 12), servers.replay(bundle, servers.clean)
    few = servers.replay(rare, servers.clean, 2)
    assert (still.verdict, still.exit_status) == ("reproduced", 1)
    assert (gone.verdict, gone.exit_status, gone.tally.k) == ("gone", 0, 0)
    assert gone.tally.n >= gone.needed
    assert gone.ruled_out is not None
    assert gone.ruled_out <= gone.expected
    assert (few.verdict, few.exit_status) == ("too few", 3)
    assert str(few.needed) in few.lines[-1]


def test_another_fault_in_its_place_is_a_changed_kind(servers: Servers) -> None:
    bundle = read_bundle(servers.bundle)
    config = SimConfig(speculative=True, seed=SEED, faults={"server-error": 0.5})

    async def other() -> Replayed:
        async with SimServer(config) as server:
            return await replay(bundle, Endpoint(name="candidate", url=server.url), 10)

    found = servers.portal.call(other)
    assert (found.verdict, found.exit_status) == ("changed kind", 1)
    assert "service/failed" in found.others


@pytest.mark.parametrize("kind", ["bleed", "service"])
def test_a_model_that_is_not_served_is_no_verdict(servers: Servers, kind: Kind) -> None:
    whole = read_bundle(servers.bundle)
    bundle = whole.model_copy(update={"finding": whole.finding.model_copy(update={"kind": kind})})
    with pytest.raises(UnavailableError, match="nope"):
        servers.replay(bundle, servers.clean.model_copy(update={"model": "nope"}), 4)


def test_shrinking_ends_with_few_requests_and_a_script_that_shows_it(servers: Servers, tmp_path: Path) -> None:
    bundle = read_bundle(servers.bundle)
    small = servers.reduce(bundle, servers.faulty, Budget(replays=300)).bundle
    assert small is not None
    assert small.shrunk is not None
    assert small.cohort.size <= 3  # half as much again as the two that it takes
    assert small.finding.kind == "bleed"
    assert small.shrunk.final.k > 0
    assert small.shrunk.replays <= 304
    assert f"needs {small.cohort.size - 1} neighbour" in small.shrunk.sentence
    made = write(small, tmp_path)
    assert read_bundle(made).shrunk == small.shrunk
    for endpoint, times, status in ((servers.faulty, 100, 1), (servers.clean, 20, 0)):  # a busy machine spreads a pair
        done = subprocess.run(
            [sys.executable, "-I", "-S", str(made / "reproduce.py"), endpoint.url, "--times", str(times)],
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        assert done.returncode == status, done.stdout + done.stderr
        assert f"of {times} failed" in done.stdout


def test_a_stopped_shrinking_goes_on_without_asking_again(servers: Servers, tmp_path: Path) -> None:
    bundle, state = read_bundle(servers.bundle), tmp_path / "state"
    first = servers.reduce(bundle, servers.faulty, Budget(replays=30), state)
    assert first.bundle is not None
    assert first.bundle.shrunk is not None
    assert not first.bundle.shrunk.finished
    kept = state.read_text(encoding="utf-8").splitlines()
    second = servers.reduce(bundle, servers.faulty, Budget(replays=2000), state)
    assert second.bundle is not None
    assert second.bundle.shrunk is not None
    assert second.baseline == first.baseline
    assert second.bundle.shrunk.finished
    assert second.bundle.cohort.size <= first.bundle.cohort.size
    assert kept
    assert not state.exists()  # nothing is left to go on with


def test_what_was_decided_at_a_faulty_server_says_nothing_of_a_clean_one(servers: Servers, tmp_path: Path) -> None:
    bundle, state = read_bundle(servers.bundle), tmp_path / "state"
    assert servers.reduce(bundle, servers.faulty, Budget(replays=30), state).bundle is not None
    clean = servers.reduce(bundle, servers.clean, Budget(replays=16), state)
    assert (clean.bundle, clean.baseline.k, clean.baseline.n) == (None, 0, 16)
    assert clean.why == "the whole cohort did not fail: 0 of 16 replays"


def test_a_smaller_bundle_that_is_there_already_is_kept(servers: Servers, tmp_path: Path) -> None:
    bundle = read_bundle(servers.bundle)
    made = write(bundle, tmp_path, name="found")
    one = pair().only(set())  # fewer than any reduction comes to: a bleed takes two
    assert one is not None
    small = write(bundle.model_copy(update={"cohort": one, "bodies": bundle.bodies[:1]}), tmp_path, name="found-shrunk")
    arguments = ["shrink", str(made), "--candidate", servers.faulty.url, "--budget", "100"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0
    assert "found-shrunk is kept, which has 1 request;" in result.stderr
    assert read_bundle(small).cohort == one


def test_a_budget_that_allows_nothing_is_not_told_as_no_failure(servers: Servers) -> None:
    none = servers.reduce(read_bundle(servers.bundle), servers.faulty, Budget(requests=1))
    assert none.bundle is None
    assert "budget" in none.why


def test_on_a_clean_engine_nothing_reproduces(servers: Servers) -> None:
    bundle = read_bundle(servers.bundle)
    assert servers.reduce(bundle, servers.clean, Budget(replays=16)).bundle is None


def test_the_findings_of_runs_are_listed_once_with_their_smallest_bundle(servers: Servers) -> None:
    rows = known([servers.run.directory])
    row = next(row for row in rows if row.key == "bleed/concurrent/user@candidate" and row.bundle)
    assert row.certainty == "certain"
    assert row.count >= 1
    assert row.runs == row.looked == 1
    assert row.size == min(
        read_bundle(path).cohort.size
        for path in (servers.run.directory / BUNDLES).glob("bleed-concurrent-user-*[0-9a-f]")
        if path.is_dir()
    )
    assert len({(row.key, row.schedule) for row in rows}) == len(rows)


def _repro(servers: Servers, candidate: Endpoint, out: Path) -> Reproduction:
    preset = Preset("small", "a small one", (Leg("rounds of 4", "rounds", 4, 16),), ("code-word",), serial=4)
    asked = Wanted(out, Budget(replays=40))
    base = servers.plan(candidate)
    return servers.portal.call(partial(reproduce, base, preset, asked, list, lambda _: None))


def test_repro_finds_confirms_shrinks_and_bundles(servers: Servers, tmp_path: Path) -> None:
    found = _repro(servers, servers.faulty, tmp_path)
    assert (found.outcome, found.exit_status) == ("reproduced", 1)
    assert found.confirmed is not None
    assert found.confirmed.k > 0
    assert found.bundle is not None
    assert read_bundle(found.bundle).shrunk is not None


def test_repro_of_a_clean_pair_says_what_so_many_answers_show(servers: Servers, tmp_path: Path) -> None:
    found = _repro(servers, servers.clean, tmp_path)
    assert (found.outcome, found.exit_status) == ("not reproduced", 0)
    assert "16 answers without one rule out" in found.why


def test_the_commands_list_and_shrink(servers: Servers, tmp_path: Path) -> None:
    runner = CliRunner()
    listed = runner.invoke(app, ["findings", str(servers.run.directory)])
    assert listed.exit_code == 0
    assert "bleed/concurrent/user@candidate (rounds)" in listed.output
    assert "smallest bundle: " in listed.output
    archive = shutil.copy(servers.bundle.with_name(f"{servers.bundle.name}.zip"), tmp_path / "b.zip")
    command = ["shrink", str(archive), "--reference", servers.reference.url, "--budget", "120", "--tracker", "sglang"]
    shrunk = runner.invoke(app, [*command, "--launch-command", "serve --speculative"])
    assert shrunk.exit_code == 0, shrunk.output
    assert "on fresh replays" in shrunk.output
    report = (tmp_path / "b-shrunk" / "ISSUE.md").read_text(encoding="utf-8")
    assert "serve --speculative" in report
    assert "\n## Reproduction\n" in report


@pytest.mark.parametrize("path", [".", BUNDLE])
def test_what_is_shrunk_from_inside_a_bundle_is_written_beside_it(
    servers: Servers, path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Path] = []

    async def reduced(bundle: Bundle, *_: object, state: Path, **__: object) -> Reduced:
        asked.append(state)
        return Reduced(bundle, Tally.of(1, 1, "replays"))

    monkeypatch.setattr("fuzzer.repro.reduce.reduce", reduced)
    shutil.copytree(servers.bundle, tmp_path / "b")
    inside = set((tmp_path / "b").iterdir())
    monkeypatch.chdir(tmp_path / "b")
    result = CliRunner().invoke(app, ["shrink", path])
    assert result.exit_code == 0, result.output
    assert set((tmp_path / "b").iterdir()) == inside
    assert asked == [tmp_path / ".b.shrink.jsonl"]
    assert {made.name for made in tmp_path.iterdir()} == {"b", "b-shrunk", "b-shrunk.zip"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["shrink", "BUNDLE", "--budget", "plenty"], "--budget"),
        (["shrink", "BUNDLE", "--tracker", "jira"], "vllm, sglang, llamacpp"),
        (["replay", "BUNDLE", "--candidate", "ftp://x"], "--candidate"),
        (["shrink", "BUNDLE", "--reference", "nonsense"], "--reference"),
        (["repro", "--candidate", "http://127.0.0.1:9", "--preset", "c9"], "c8-wrong-answer"),
    ],
)
def test_a_mistake_is_named_before_anything_is_sent(servers: Servers, arguments: list[str], words: str) -> None:
    given = [str(servers.bundle) if argument == "BUNDLE" else argument for argument in arguments]
    result = CliRunner().invoke(app, given)
    assert isinstance(result.exception, UsageError)
    assert words in str(result.exception)


def test_where_the_whole_never_fails_again_one_neighbour_that_fills_the_memory_is_tried(
    servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(whole, "MOST", 3)
    long = Overrides(pad=900, max_tokens=60, ignore_eos=True)
    early = Send(prompt="a", role="neighbour", overrides=long)
    then = Send(prompt="b", role="neighbour", at_ms=500.0, overrides=long)
    late = Send(prompt="d", at_ms=1_000.0)  # when the neighbours have come and gone, one after another
    made = cohort([[[early], [then], [Send(prompt="c")], [late]]], victim=3)
    made = made.model_copy(
        update={
            "prompts": tuple(
                make("count-on", "hard", number).model_copy(update={"id": prompt.id}) if prompt.id in "cd" else prompt
                for number, prompt in enumerate(made.prompts)
            )
        }
    )
    wrong = bundle(made)
    finding = wrong.finding.model_copy(update={"kind": "wrong-answer", "sub_kind": "wrong-value", "donor": None})

    async def right(send: Send) -> Received:
        alone = cohort([[[as_victim(send)]]])
        alone = alone.model_copy(update={"prompts": tuple(p for p in made.prompts if p.id == send.prompt)})
        async with playing(servers.reference, made.sampling) as player:
            (played,) = await player.trial(alone, finding).run(1)
        got = played.exchanges[0].received
        assert got is not None
        return got

    async def shrunk() -> Reduced:
        rights = tuple([await right(send.model_copy(update={"at_ms": 0.0})) for send in made.sends])
        given = wrong.model_copy(update={"finding": finding, "cohort": made.model_copy(update={"right": rights})})
        config = SimConfig(speculative=True, seed=SEED, kv_blocks=130, faults={"preempt-loss": 1.0})
        async with SimServer(config) as server:
            candidate = Endpoint(name="candidate", url=server.url)
            return await reduce(given, candidate, servers.reference, Budget(replays=16), tell=lambda _: None)

    small = servers.portal.call(shrunk).bundle
    assert small is not None
    assert small.shrunk is not None
    assert small.cohort.size == 2
    assert (small.shrunk.baseline.k, small.shrunk.baseline.n) == (0, 6)
    assert small.shrunk.filled is not None
    assert small.shrunk.filled.k > 0
