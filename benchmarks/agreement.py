"""Do the report's figures agree with the engine's own? A small llama.cpp run, held against its counters and timings.

    python -m benchmarks.agreement [--requests 24] [--out reports/agreement]

Runs a gate on an embedded llama.cpp pair (n-gram drafts against none) at 1 and 8, and keeps the ``timings`` that came
with every reply, which the gate itself uses for drafts only. For each cell and arm it puts side by side:

- output tokens and draft tokens: the report's, the counters' of ``/metrics``, and the sum over ``timings``;
- the median time between tokens of the measured answers: the report's, and the engine's ``predicted_ms`` over
  ``predicted_n - 1`` of the same answers;
- the median time of the whole answers: the report's, and the engine's ``prompt_ms`` and ``predicted_ms`` together. What
  a request waits for before its prompt is looked at is in the first alone, and with several in flight it does wait.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any
from unittest.mock import patch

import anyio
from pydantic import JsonValue

from fuzzer.demo import boot_llama, llama_model
from fuzzer.history.journal import exchanges, read_history
from fuzzer.history.records import Arm, Exchange, Stage
from fuzzer.manifest import HISTORY
from fuzzer.plan import Policy
from fuzzer.run import Run, gate
from fuzzer.summary import ArmSpeed, CellSummary
from fuzzer.wire.account import Account

TOLERANCE = 0.02
ARMS: tuple[Arm, ...] = ("candidate", "reference")

Timings = dict[str, dict[str, Any]]


@contextmanager
def overheard() -> Iterator[Timings]:
    """The timings of every reply, by its id."""
    heard: Timings = {}
    take = Account.take

    def listen(account: Account, reply: dict[str, JsonValue]) -> bool:
        timings = reply.get("timings")
        if isinstance(timings, dict):
            heard[str(reply.get("id"))] = timings
        return take(account, reply)

    with patch.object(Account, "take", listen):
        yield heard


async def run(folder: Path, requests: int) -> tuple[Run, Timings]:
    """The gate, and what was overheard."""
    async with AsyncExitStack() as stack:
        plan = await boot_llama(stack, llama_model(None), "none", seed=0)
        plan = plan.model_copy(update={"policy": Policy(requests=requests, control_requests=requests // 2)})
        with overheard() as heard:
            return await gate(plan, out=folder), heard


def rows(ended: Run, heard: Timings) -> Iterator[dict[str, object]]:
    """One line a figure: what the report says, what the engine says, and by how much they differ."""
    stages = [record for record in read_history(ended.directory / HISTORY) if isinstance(record, Stage)]
    sent = list(exchanges(read_history(ended.directory / HISTORY)))
    for cell in ended.summary.cells:
        for arm in ARMS:
            told = cell.speed.candidate if arm == "candidate" else cell.speed.reference
            assert told is not None
            here = [one for one in sent if one.sent.cell == cell.key and one.sent.arm == arm and one.ok]
            own = [one for one in stages if one.cell == cell.key and one.arm == arm and one.phase == "measure"]
            yield from _cell(cell, arm, told, here, own, heard)


def _cell(
    cell: CellSummary, arm: Arm, told: ArmSpeed, here: list[Exchange], stages: list[Stage], heard: Timings
) -> Iterator[dict[str, object]]:
    timings = {one.key: heard[one.received.request_id or ""] for one in here if one.received is not None}
    counted: Counter[str] = Counter()
    for stage in stages:
        assert stage.before is not None
        assert stage.after is not None
        for name in ("generated_tokens", "draft_tokens", "accepted_tokens"):
            counted[name] += int((getattr(stage.after, name) or 0) - (getattr(stage.before, name) or 0))
    seconds = sum(stage.seconds for stage in stages)
    place = {"concurrency": cell.concurrency, "arm": arm}
    rate = told.tokens_per_second or 0.0
    summed = {name: sum(one.get(name, 0) for one in timings.values()) for name in ("predicted_n", "draft_n")}
    yield place | _figure("tokens/s, by counters", rate, counted["generated_tokens"] / seconds)
    yield place | _figure("tokens/s, by timings", rate, summed["predicted_n"] / seconds)
    if arm == "candidate" and cell.acceptance is not None:
        drafted, accepted = cell.acceptance.drafted, cell.acceptance.accepted
        yield place | _figure("draft tokens, by timings", drafted, summed["draft_n"])
        yield place | _figure("accepted share, by counters", accepted / drafted, _share(counted))
        by_reply = sum(one.get("draft_n_accepted", 0) for one in timings.values()) / summed["draft_n"]
        yield place | _figure("accepted share, by timings", accepted / drafted, by_reply)
    measured = [timings[one.key] for one in here if one.sent.phase == "measure"]
    between = [one["predicted_ms"] / (one["predicted_n"] - 1) / 1e3 for one in measured if one["predicted_n"] > 1]
    whole = [(one["prompt_ms"] + one["predicted_ms"]) / 1e3 for one in measured]
    assert told.inter_token is not None
    assert told.end_to_end is not None
    yield place | _figure("median s between tokens", told.inter_token.p50, median(between))
    yield place | _figure("median s of an answer", told.end_to_end.p50, median(whole))


def _share(counted: Counter[str]) -> float:
    return counted["accepted_tokens"] / counted["draft_tokens"]


def _figure(name: str, ours: float, theirs: float) -> dict[str, object]:
    return {"figure": name, "report": ours, "engine": theirs, "apart": ours / theirs - 1 if theirs else 0.0}


def table(lines: list[dict[str, Any]]) -> str:
    """The lines as Markdown."""
    head = "| N | arm | figure | report | engine | apart |\n|---|---|---|---|---|---|\n"
    return head + "".join(
        f"| {one['concurrency']} | {one['arm']} | {one['figure']} | {one['report']:.4g} | {one['engine']:.4g} "
        f"| {one['apart']:+.2%} |\n"
        for one in lines
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=24)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        ended, heard = anyio.run(partial(run, Path(folder), given.requests))
        lines = list(rows(ended, heard))
    print(table(lines))
    within = [line for line in lines if abs(float(str(line["apart"]))) <= TOLERANCE]
    print(f"{len(within)} of {len(lines)} within {TOLERANCE:.0%}")
    if given.out is not None:
        given.out.mkdir(parents=True, exist_ok=True)
        (given.out / "results.json").write_text(json.dumps(lines, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
