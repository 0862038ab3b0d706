"""The lm_head axis in one command: a drifting drafter with heads of several precisions, over a ladder of concurrency.

    python -m benchmarks.axis [--heads nvfp4,fp8,bf16] [--concurrency 1,2,4,8,16] [--requests 192] [--out reports/axis]

Simulated servers, a pair for every head: the candidate drafts and has the planted fault ``verify-drift`` on every
request, its reference has the same head and neither. One ``gate`` runs them all, a fixed number of judged answers a
cell, the same prompts for every head. What must come out: the coarser the head the more wrong answers, at every
concurrency above 1; more of them at 16 than at 2; from concurrency 8 on the coarsest head told apart from the finest
by the paired test (at 2 the drift is a third of that at 8, and 192 answers show next to nothing).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from itertools import pairwise
from pathlib import Path

import anyio

from fuzzer.plan import Endpoint, Plan, Policy, Sampling
from fuzzer.report.divergence import divergences
from fuzzer.report.files import summary_json
from fuzzer.report.markdown import markdown
from fuzzer.report.matrix import matrix
from fuzzer.report.sentences import comparison
from fuzzer.run import gate
from fuzzer.sim.config import SimConfig
from fuzzer.sim.process import SimServer
from fuzzer.summary import CellSummary, Comparison, Summary

HEADS = ("nvfp4", "fp8", "bf16")
LEVELS = (1, 2, 4, 8, 16)
SIGNIFICANT = 0.01
TELLING = 8  # concurrency from which on the drift is large enough for so few answers
_CONTROL = 60


async def measure(heads: Sequence[str], levels: Sequence[int], requests: int, seed: int, out: Path) -> Summary:
    """One gate over all heads and levels; the run directory is made in ``out``."""
    async with AsyncExitStack() as stack:
        candidates: list[Endpoint] = []
        references: list[Endpoint] = []
        for head in heads:
            for speculative, group in ((True, candidates), (False, references)):
                faults = {"verify-drift": 1.0} if speculative else {}
                config = SimConfig(speculative=speculative, lm_head=head, seed=seed, faults=faults)
                server = await stack.enter_async_context(SimServer(config))
                group.append(Endpoint(name=head, url=server.url, lm_head=head))
        plan = Plan(
            candidates=tuple(candidates),
            references=tuple(references),
            concurrency=tuple(levels),
            schedules=("closed-loop",),
            seed=seed,
            sampling=Sampling(timeout=60),
            policy=Policy(requests=requests, control_requests=min(_CONTROL, requests)),
        )
        return (await gate(plan, out=out)).summary


def rate(cell: CellSummary) -> float:
    """The share of failed answers."""
    return cell.rate.k / cell.rate.n if cell.rate.n else 0.0


def shortfalls(summary: Summary, heads: Sequence[str]) -> Iterator[str]:
    """What did not come out as the mechanism says; nothing if all did. ``heads`` begin with the coarsest."""
    cells = {(cell.candidate, cell.concurrency): cell for cell in summary.cells}
    levels = sorted({cell.concurrency for cell in summary.cells if cell.concurrency > 1})
    for head in heads:
        if rate(cells[head, levels[-1]]) < rate(cells[head, levels[0]]):
            yield f"{head}: fewer failures at {levels[-1]} than at {levels[0]}"
        if cells[head, 1].rate.k:
            yield f"{head}: failures at concurrency 1, where nothing drifts"
    for level in levels:
        for coarse, fine in pairwise(heads):
            if rate(cells[coarse, level]) < rate(cells[fine, level]):
                yield f"at {level}: {coarse} fails less often than {fine}"
    for pair in summary.comparisons:
        if {pair.left, pair.right} == {heads[0], heads[-1]} and pair.concurrency >= TELLING and not separated(pair):
            yield f"at {pair.concurrency}: {pair.left} and {pair.right} are not told apart (p = {pair.p_two_sided:.2g})"


def separated(pair: Comparison) -> bool:
    """Whether the paired test tells two heads apart."""
    return pair.p_two_sided < SIGNIFICANT


def report(summary: Summary, heads: Sequence[str]) -> str:
    """The main table, the paired tests and the divergence behind them, as Markdown."""
    table = matrix(summary)
    columns = table.columns if table else ()
    lines = ["| N | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    lines += ["| " + " | ".join(row) + " |" for row in (table.failures if table else ())]
    lines += ["", "Paired tests between heads, on the prompts that both judged:", ""]
    lines += [f"- {comparison(pair)}" for pair in summary.comparisons if pair.concurrency > 1]
    lines += ["", "Divergence in calibration, each head against its own reference:", ""]
    lines += [f"- {line}" for line in divergences(summary)]
    missed = list(shortfalls(summary, heads))
    lines += ["", "Not as the mechanism says: " + "; ".join(missed) if missed else "All as the mechanism says."]
    return "\n".join(lines)


def introduction(arguments: argparse.Namespace, summary: Summary) -> str:
    """What was run, in what command."""
    command = (
        f"python -m benchmarks.axis --heads {arguments.heads} --concurrency {arguments.concurrency} "
        f"--requests {arguments.requests} --seed {arguments.seed}"
    )
    return (
        "# The lm_head axis: verify-drift on the simulated engine\n\n"
        f"`{command}`: one gate, {summary.exchanges:,} exchanges in {summary.seconds:.0f} s. Each candidate drafts and "
        "drifts in batched verification, each has a reference with its own head; the mechanism has one noise constant "
        "and one drift constant for all heads (`fuzzer/sim/logits.py`). Failed answers of judged ones, by concurrency "
        "(rows) and lm_head precision (columns). `report.md` and `summary.json` are the gate's own.\n"
    )


def main() -> None:
    """Run the gate, keep its reports, print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--heads", default=",".join(HEADS), help="coarsest first")
    parser.add_argument("--concurrency", default=",".join(map(str, LEVELS)))
    parser.add_argument("--requests", type=int, default=192)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("reports/axis"))
    arguments = parser.parse_args()
    heads, levels = arguments.heads.split(","), [int(level) for level in arguments.concurrency.split(",")]
    with tempfile.TemporaryDirectory() as folder:
        summary = anyio.run(measure, heads, levels, arguments.requests, arguments.seed, Path(folder))
    text = f"{introduction(arguments, summary)}\n{report(summary, heads)}\n"
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "README.md").write_text(text, encoding="utf-8")
    (arguments.out / "report.md").write_text(markdown(summary), encoding="utf-8")
    (arguments.out / "summary.json").write_text(summary_json(summary), encoding="utf-8")
    print(text)
    sys.exit(1 if any(shortfalls(summary, heads)) else 0)


if __name__ == "__main__":
    main()
