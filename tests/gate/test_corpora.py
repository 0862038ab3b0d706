"""People's own files through the gate: each format on a healthy pair, and what is malformed before anything is sent."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from fuzzer import cli
from fuzzer.cli.app import app
from fuzzer.history.journal import read_history
from fuzzer.history.records import Prompt, Sent
from fuzzer.manifest import HISTORY
from fuzzer.plan import Endpoint, Plan, Policy
from fuzzer.run import Run, gate
from fuzzer.sim.config import SimConfig
from fuzzer.sim.process import SimServer
from tests.prompts.corpora.files import ifeval, mbpp, messages, own, prompt, rows, sharegpt, write

POLICY = Policy(requests=12, control_requests=4, max_wrong_rate=0.23)
DEAD = "http://127.0.0.1:9"


async def run(tmp_path: Path, corpus: Path, **more: object) -> Run:
    async with SimServer(SimConfig(speculative=True)) as candidate, SimServer(SimConfig()) as reference:
        plan = {
            "candidates": (Endpoint(name="candidate", url=candidate.url),),
            "references": (Endpoint(name="reference", url=reference.url),),
            "policy": POLICY,
            "schedules": ("closed-loop",),
            "concurrency": (1, 4),
            "corpora": (str(corpus),),
            "families": ("code-word", "reverse"),
            **more,
        }
        return await gate(Plan.model_validate(plan), out=tmp_path / "runs")


def measured(ended: Run, arm: str) -> list[Prompt]:
    """The rows of the corpus that an arm was sent where it counts."""
    records = list(read_history(ended.directory / HISTORY))
    prompts = {record.id: record for record in records if isinstance(record, Prompt)}
    sent = [
        record for record in records if isinstance(record, Sent) and record.arm == arm and record.phase == "measure"
    ]
    return [row for record in sent if (row := prompts[record.prompt]).family == "corpus/mine"]


@pytest.mark.anyio
@pytest.mark.parametrize("name", ["ifeval", "gsm8k", "mt-bench", "sharegpt", "messages"])
async def test_a_clean_pair_passes_on_a_file_of_each_format(tmp_path: Path, name: str) -> None:
    ended = await run(tmp_path, write(tmp_path / "mine.jsonl", *rows(name)))
    assert ended.summary.verdict == "pass", ended.summary.reasons
    sent = measured(ended, "candidate")
    assert len({row.spec["row"] for row in sent}) >= 4
    assert {row.checkable for row in sent} == {name in ("ifeval", "gsm8k")}
    assert sorted(row.id for row in sent) == sorted(row.id for row in measured(ended, "reference"))
    assert all(row.canaries for row in sent)


@pytest.mark.anyio
async def test_without_weaving_a_log_is_sent_as_it_is(tmp_path: Path) -> None:
    ended = await run(tmp_path, write(tmp_path / "mine.jsonl", *rows("messages")), weave=False)
    assert ended.summary.verdict == "pass", ended.summary.reasons
    for row in measured(ended, "candidate"):
        assert row.canaries == ()
        assert row.messages[0].content == "You help travellers. Be brief."


GOOD = {"messages": [{"role": "user", "content": "Which hue?"}], "answer": "red", "check": "exact"}
IMAGE = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:,"}}]}
MALFORMED: dict[str, tuple[object, str]] = {
    "bad JSON": ('{"prompt": "Hue?"', "not JSON"),
    "not an object": ("[1]", "not a JSON object"),
    "a field twice": ('{"prompt": "a", "prompt": "b"}', "the field 'prompt' stands twice"),
    "not UTF-8": (b'{"prompt": "\xe9"}', "not UTF-8"),
    "half a character": ('{"prompt": "\\ud83d"}', "prompt: holds half a character"),
    "no known format": ({"text": "Hue?"}, "of no known format"),
    "no role": ({"messages": [{"content": "Hue?"}]}, "messages.0.role: is missing"),
    "a bad role": ({"messages": [{"role": "cat", "content": "Hue?"}]}, "messages.0.role: is 'cat'"),
    "no content": ({"messages": [{"role": "user"}]}, "messages.0.content: is missing"),
    "nothing asked": ({"messages": [{"role": "assistant", "content": "Red."}]}, "messages: no message of a user's"),
    "an empty prompt": ({"prompt": " "}, "prompt: is empty"),
    "an image": ({"messages": [IMAGE]}, "messages.0.content: holds a part of type 'image_url'"),
    "no answer": ({**GOOD, "answer": None}, "answer: is missing"),
    "an unknown check": ({**GOOD, "check": "vibes"}, "check: is 'vibes'"),
    "an answer that its check refuses": ({**GOOD, "answer": "`red`"}, "answer: its own check (exact) refuses"),
    "an id twice": ([{**GOOD, "id": "a"}, {**GOOD, "id": "a"}], "id: 'a' is the id of line 2, too"),
    "an unknown speaker": ({"conversations": [{"from": "cat", "value": "Hue?"}]}, "conversations.0.from: is 'cat'"),
    "an empty conversation": ({**sharegpt(0), "conversations": []}, "conversations: is empty"),
    "an unknown instruction": ({**ifeval(0), "instruction_id_list": ["a:b", "c:d"]}, "instruction_id_list.0: a:b"),
    "an argument that is missing": ({**ifeval(0), "kwargs": [{}, {}]}, "kwargs.1: keywords:existence"),
    "no hashes": ({"question": "How many?", "answer": "5"}, "answer: has no ####"),
    "no turns": ({"turns": []}, "turns: is empty"),
    "code that is no Python": ({**mbpp(0), "code": "def ("}, "code: is no Python"),
    "output that is not counted": ({**prompt(0), "output_tokens": "few"}, "output_tokens: is not a whole number"),
}


def command(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    """The exit status of the command line, run in this process."""
    monkeypatch.setattr(sys, "argv", ["specfuzz", *arguments])
    with pytest.raises(SystemExit) as left:
        cli.main()
    return int(left.value.code or 0)


@pytest.mark.parametrize("kind", MALFORMED)
def test_what_is_malformed_is_one_line_with_file_and_line_before_anything_is_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], kind: str
) -> None:
    row, told = MALFORMED[kind]
    path, out = tmp_path / "mine.jsonl", tmp_path / "runs"
    bad = [each if isinstance(each, bytes) else _line(each) for each in (row if isinstance(row, list) else [row])]
    path.write_bytes(b"\n".join([_line(messages(0)), *bad, _line(own(0))]))
    for more in ((), ("--dry-run",)):
        arguments = "gate", "--candidate", DEAD, "--corpus", str(path), "--out", str(out), *more
        assert command(monkeypatch, *arguments) == 2
        printed, said = capfd.readouterr()
        assert printed == ""
        assert said.count("\n") == 1
        assert f"{path}, line {1 + len(bad)}: {told}" in said
        assert not out.exists()


def _line(row: object) -> bytes:
    return (row if isinstance(row, str) else json.dumps(row)).encode()


def test_a_dry_run_says_how_many_rows_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "mine.jsonl", *rows("sharegpt"))
    monkeypatch.setattr(sys, "argv", ["specfuzz", "gate", "--candidate", DEAD, "--corpus", str(path), "--dry-run"])
    app(standalone_mode=False)
    assert "20 rows, all of them valid" in capfd.readouterr().out
