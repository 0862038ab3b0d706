"""Benign batch noise alone: clean simulated pairs with bf16 heads, gated again and again. None may fail.

    python -m benchmarks.benign [--runs 100] [--start 0] [--results reports/benign/results.jsonl]

Nothing is planted; the heads' exact ties and the noise that grows with the batch are on. The families are those with
longer answers, so that noise has places to act; a gate judges 100 answers a cell at concurrency 1, 4 and 16, and the
rest of its policy is the default one.
A run counts the prompts whose text is not the same at every concurrency, on the same end. Resumable: a seed that the
results hold is not run again.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Iterable
from contextlib import AsyncExitStack
from pathlib import Path

import anyio
from pydantic import BaseModel, ConfigDict, ValidationError

from fuzzer.demo import NONE, Pair, boot_sim
from fuzzer.history.journal import exchanges, read_history
from fuzzer.manifest import HISTORY
from fuzzer.run import gate
from fuzzer.stats import clopper_pearson_upper
from fuzzer.summary import Summary

LEVELS = (1, 4, 16)
REQUESTS = 100  # judged answers a cell
LIMIT = 0.03  # what so many clean ones rule out
FAMILIES = ("keyed-json", "sort", "reverse", "schema-json")
LEAST_SHARE = 0.25  # of the prompts: their text must depend on the concurrency, or nothing was shown

INTRODUCTION = f"""# Benign batch noise: what a clean pair makes of the gate

`python -m benchmarks.benign`: simulated pairs, bf16 heads, nothing planted, {", ".join(FAMILIES)} prompts at
concurrency {", ".join(map(str, LEVELS))}, closed loop, {REQUESTS} judged answers a cell under a limit of {LIMIT:.0%},
the default policy else. `results.jsonl` has a row a run.
"""


class Row(BaseModel):
    """One run.

    ``texts`` maps an end to (prompts answered at two concurrencies or more, those of them whose text differs).
    ``material`` are prompts beyond the band, candidate and reference, over all levels.
    """

    model_config = ConfigDict(frozen=True)

    seed: int
    exit: int
    reasons: tuple[str, ...]
    failed: int
    judged: int
    texts: dict[str, tuple[int, int]]
    compared: int
    material: tuple[int, int]
    smallest_p: float
    worst_regret: float
    ties: int
    tie_tokens: int
    findings: tuple[str, ...]
    exchanges: int
    seconds: float
    cpu: float


async def measure(seed: int, out: Path) -> Row:
    """Gate one pair of fresh servers."""
    started, cpu = time.monotonic(), time.process_time()
    async with AsyncExitStack() as stack:
        plan = await boot_sim(stack, Pair(NONE, ("bf16",)), seed=seed, requests=REQUESTS)
        policy = plan.policy.model_copy(update={"max_wrong_rate": LIMIT})
        asked = {"concurrency": LEVELS, "schedules": ("closed-loop",), "families": FAMILIES, "policy": policy}
        run = await gate(plan.model_copy(update=asked), out=out, run_id=f"seed-{seed}")
    return row(seed, run.summary, texts(run.directory), time.monotonic() - started, time.process_time() - cpu)


def texts(directory: Path) -> dict[str, tuple[int, int]]:
    """By end: prompts that were answered at two concurrencies or more, and those with more than one text."""
    said: dict[tuple[str, str], dict[int, str]] = {}
    for exchange in exchanges(read_history(directory / HISTORY)):
        sent = exchange.sent
        if exchange.ok and exchange.received is not None and sent.phase in ("calibration", "measure"):
            said.setdefault((sent.arm, sent.prompt), {}).setdefault(sent.concurrency, exchange.received.text)
    counts: dict[str, tuple[int, int]] = {}
    for (arm, _), by_level in said.items():
        if len(by_level) > 1:
            n, differ = counts.get(arm, (0, 0))
            counts[arm] = n + 1, differ + (len(set(by_level.values())) > 1)
    return counts


def row(seed: int, summary: Summary, said: dict[str, tuple[int, int]], seconds: float, cpu: float) -> Row:
    """What is kept of a run."""
    gated = [cell for cell in summary.cells if cell.role == "gated"]
    floors = [cell.noise_floor for cell in gated if cell.noise_floor is not None]
    return Row(
        seed=seed,
        exit=summary.exit_status,
        reasons=tuple(f"{reason.code}: {reason.message}" for reason in summary.reasons),
        failed=sum(cell.rate.k for cell in gated),
        judged=sum(cell.rate.n for cell in gated),
        texts=said,
        compared=sum(floor.n for floor in floors),
        material=(sum(floor.candidate_material for floor in floors), sum(floor.reference_material for floor in floors)),
        smallest_p=min((floor.p for floor in floors if floor.p is not None), default=1.0),
        worst_regret=max((floor.regret.worst for floor in floors if floor.regret), default=0.0),
        ties=sum(floor.ties for floor in floors),
        tie_tokens=sum(floor.tie_tokens for floor in floors),
        findings=tuple(f"{group.key} ({group.certainty}, {group.count})" for group in summary.findings),
        exchanges=summary.exchanges,
        seconds=round(seconds, 1),
        cpu=round(cpu, 1),
    )


def report(rows: Iterable[Row]) -> str:
    """All runs so far, as Markdown."""
    known = list(rows)
    exits = {status: sum(one.exit == status for one in known) for status in sorted({one.exit for one in known})}
    failed, n = sum(one.exit == 1 for one in known), len(known)
    lines = [
        f"{n} runs: {failed} failed (one-sided 95 % upper bound {clopper_pearson_upper(failed, n):.1%}); exit statuses "
        + ", ".join(f"{status}: {count}" for status, count in exits.items())
        + f". {sum(one.failed for one in known)} of {sum(one.judged for one in known):,} judged answers were wrong.",
        "",
    ]
    for arm in ("candidate", "reference"):
        pairs = [one.texts[arm] for one in known if arm in one.texts]
        shares = [differ / count for count, differ in pairs if count]
        total, differ = sum(count for count, _ in pairs), sum(differ for _, differ in pairs)
        if total:
            lines.append(
                f"- {arm}: {differ:,} of {total:,} prompts ({differ / total:.1%}) have another text at another "
                f"concurrency (least in a run {min(shares):.1%})"
            )
    ours, theirs = (sum(one.material[side] for one in known) for side in (0, 1))
    ties = 1000 * sum(one.ties for one in known) / max(sum(one.tie_tokens for one in known), 1)
    lines += [
        f"- material divergence: {ours} prompts candidate v reference, {theirs} reference v itself, of "
        f"{sum(one.compared for one in known):,}; smallest p of a run {min(one.smallest_p for one in known):.2g}",
        f"- worst regret {max(one.worst_regret for one in known):.2f} nats; exact ties at {ties:.1f} in 1,000 tokens",
        f"- findings: {', '.join(sorted({text for one in known for text in one.findings})) or 'none'}",
        f"- median {sorted(one.seconds for one in known)[n // 2]:.0f} s and "
        f"{sorted(one.cpu for one in known)[n // 2]:.0f} CPU-seconds of the gate's own a run",
    ]
    return "\n".join(lines)


def share(rows: Iterable[Row], arm: str) -> float:
    """The share of an end's prompts whose text depends on the concurrency, over all runs."""
    counts = [one.texts.get(arm, (0, 0)) for one in rows]
    total = sum(n for n, _ in counts)
    return sum(differ for _, differ in counts) / total if total else 0.0


def load(path: Path) -> list[Row]:
    """The results so far; a torn last line is left out."""
    rows = []
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        try:
            rows.append(Row.model_validate_json(line))
        except (ValidationError, json.JSONDecodeError):
            continue
    return rows


def main() -> None:
    """Run what is missing, then write and print the report; exit status 1 where a run failed or showed nothing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--start", type=int, default=0, help="first seed, to share the work between processes")
    parser.add_argument("--results", type=Path, default=Path("reports/benign/results.jsonl"))
    arguments = parser.parse_args()
    arguments.results.parent.mkdir(parents=True, exist_ok=True)
    done = {one.seed for one in load(arguments.results)}
    for seed in range(arguments.start, arguments.start + arguments.runs):
        if seed in done:
            continue
        with tempfile.TemporaryDirectory() as folder:
            made = anyio.run(measure, seed, Path(folder))
        with arguments.results.open("a", encoding="utf-8") as file:
            file.write(made.model_dump_json() + "\n")
        print(f"seed {seed}: exit {made.exit}, texts {made.texts}, {made.seconds} s", flush=True)
    rows = sorted(load(arguments.results), key=lambda one: one.seed)
    text = report(rows)
    (arguments.results.parent / "README.md").write_text(f"{INTRODUCTION}\n{text}\n", encoding="utf-8")
    print(text)
    raise SystemExit(any(one.exit == 1 for one in rows) or share(rows, "candidate") < LEAST_SHARE)


if __name__ == "__main__":
    main()
