"""Detection power and false alarms on the simulated pair: every fault, many seeds, the gate's default size.

    python -m benchmarks.detection [--seeds 20] [--faults NAME,...] [--results reports/detection/results.jsonl]

Resumable: a (fault, seed) that the results hold is not run again. The table says, for each fault, how often the exit
status, the kind of finding and (for bleed) the donor came out as they must.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import anyio

from fuzzer.demo import NONE, boot_sim, sim_pair
from fuzzer.finding import Finding
from fuzzer.history.journal import exchanges, read_history
from fuzzer.history.records import Exchange, Prompt
from fuzzer.manifest import FINDINGS, HISTORY
from fuzzer.run import Run, gate

# the exit status that the policy gives each fault, and the kinds of which one must be found
EXPECTED: dict[str, tuple[int, tuple[str, ...]]] = {
    NONE: (0, ()),
    "last-message-swap": (1, ("bleed",)),
    "stale-answer": (1, ("bleed",)),
    "verify-drift": (1, ("wrong-answer",)),
    "row-swap": (1, ("wrong-answer", "divergence", "self-consistency")),
    "token-noise": (1, ("corruption", "wrong-answer")),
    "collapse": (1, ("corruption", "wrong-answer")),
    "empty-200": (1, ("wrong-answer/empty",)),
    "hang": (1, ("service",)),
    "server-error": (1, ("service",)),
    "acceptance-collapse": (1, ("speculation-health",)),
    "spec-off": (3, ("speculation-health",)),
    "truncate": (1, ("self-consistency",)),
}
DONORS = {"last-message-swap": {"concurrent"}, "stale-answer": {"stale", "ambiguous", "concurrent"}}
REASON_KINDS = {"acceptance-collapse": "speculation-health", "no-speculation": "speculation-health"}


async def measure(fault: str, seed: int, out: Path) -> dict[str, object]:
    """Gate one pair and say what came out."""
    started, cpu = time.monotonic(), time.process_time()
    async with AsyncExitStack() as stack:
        plan = await boot_sim(stack, sim_pair(fault), seed=seed)
        run = await gate(plan, out=out, run_id=f"{fault}-{seed}")
    status, kinds = EXPECTED[fault]
    found = _kinds(run)
    donors = _donors(fault, run)
    return {
        "fault": fault,
        "seed": seed,
        "exit": run.summary.exit_status,
        "exit_ok": run.summary.exit_status == status,
        "kind_ok": not kinds or bool(found & set(kinds)),
        "donors": donors,
        "donor_ok": fault not in DONORS or (donors.get("right", 0) > 0 and not donors.get("wrong", 0)),
        "kinds": sorted(found),
        "reasons": [f"{reason.code}: {reason.message}" for reason in run.summary.reasons],
        "rates": {cell.key: [cell.rate.k, cell.rate.n] for cell in run.summary.cells},
        "references": {
            cell.key: [cell.reference_rate.k, cell.reference_rate.n]
            for cell in run.summary.cells
            if cell.reference_rate
        },
        "exchanges": run.summary.exchanges,
        "seconds": round(time.monotonic() - started, 1),
        "client_cpu_seconds": round(time.process_time() - cpu, 1),
    }


def _kinds(run: Run) -> set[str]:
    """Kinds, and kind/sub-kind, of what was found on the candidate."""
    found: set[str] = {group.kind for group in run.summary.findings if group.arm == "candidate"}
    found |= {f"{group.kind}/{group.sub_kind}" for group in run.summary.findings if group.arm == "candidate"}
    return found | {REASON_KINDS[reason.code] for reason in run.summary.reasons if reason.code in REASON_KINDS}


def _donors(fault: str, run: Run) -> dict[str, int]:
    """How many certain bleeds name the donor whose content the victim's reply really holds."""
    if fault not in DONORS:
        return {}
    findings = [
        Finding.model_validate_json(line)
        for line in (run.directory / FINDINGS).read_text(encoding="utf-8").splitlines()
    ]
    bleeds = {item.exchange: item for item in findings if item.kind == "bleed" and item.certainty == "certain"}
    counts: Counter[str] = Counter()
    history = list(read_history(run.directory / HISTORY))
    prompts = {record.id: record for record in history if isinstance(record, Prompt)}
    for exchange in exchanges(history):
        finding = bleeds.get(exchange.key)
        if finding is not None:
            counts["right" if _right_donor(fault, finding, exchange, prompts) else "wrong"] += 1
    return dict(counts)


def _right_donor(fault: str, finding: Finding, exchange: Exchange, prompts: dict[str, Prompt]) -> bool:
    donor, received = finding.donor, exchange.received
    if donor is None or donor.prompt is None or received is None:
        return False
    text = prompts[donor.prompt].text
    return donor.span in received.text and donor.span in text and donor.when in DONORS[fault]


def table(rows: list[dict[str, object]]) -> str:
    """The results by fault, as Markdown."""
    lines = [
        "| fault | seeds | exit status | right kind | right donor | median s | exit statuses |",
        "|---|---|---|---|---|---|---|",
    ]
    for fault, (status, _) in EXPECTED.items():
        own = [row for row in rows if row["fault"] == fault]
        if not own:
            continue
        seconds = sorted(float(str(row["seconds"])) for row in own)
        exits = Counter(row["exit"] for row in own)
        n = len(own)
        lines.append(
            f"| {fault} | {n} | {sum(bool(row['exit_ok']) for row in own)}/{n} = {status} "
            f"| {sum(bool(row['kind_ok']) for row in own)}/{n} | {sum(bool(row['donor_ok']) for row in own)}/{n} "
            f"| {seconds[n // 2]} | {', '.join(f'{key}: {count}' for key, count in sorted(exits.items(), key=str))} |"
        )
    return "\n".join(lines)


def notes(rows: list[dict[str, object]]) -> str:
    """Totals behind the table: donors, drift by lm_head precision, cost."""
    donors: Counter[str] = Counter()
    drift: dict[str, Counter[str]] = {}
    for row in rows:
        donors.update(_table(row["donors"]))
        if row["fault"] == "verify-drift":
            for key, pair in _table(row["rates"]).items():
                head, _, level, _ = key.split("/")
                drift.setdefault(f"{head} at {level.removeprefix('c')}", Counter()).update(
                    failed=pair[0], judged=pair[1]
                )
    rates = ", ".join(f"{name} {count['failed']}/{count['judged']}" for name, count in sorted(drift.items()))
    return (
        f"Certain bleeds whose named donor is the prompt that the reply's span stands in: {donors['right']} right, "
        f"{donors['wrong']} wrong. Answers failed under verify-drift, all seeds, by lm_head and concurrency: {rates}."
    )


def _table(value: object) -> dict[str, Any]:
    assert isinstance(value, dict)
    return value


INTRODUCTION = """# Detection power and false alarms, simulated pair

`python -m benchmarks.detection`: each fault at its default rate, each seed a fresh pair of servers, the gate at its
default size (levels 1 and 8, closed-loop and burst-solo, sequential). `none` is the clean pair with its benign batch
noise on. Right kind: a finding of a kind that the fault must show as was there. `results.jsonl` has a row for each run.
"""


def main() -> None:
    """Run what is missing, then print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--start", type=int, default=0, help="first seed, to share the work between processes")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--faults", default=",".join(EXPECTED))
    parser.add_argument("--results", type=Path, default=Path("reports/detection/results.jsonl"))
    arguments = parser.parse_args()
    arguments.results.parent.mkdir(parents=True, exist_ok=True)
    rows = load(arguments.results)
    done = {(row["fault"], row["seed"]) for row in rows}
    for seed in range(arguments.start, arguments.start + arguments.seeds):
        for fault in arguments.faults.split(","):
            if (fault, seed) in done:
                continue
            with tempfile.TemporaryDirectory() as folder:
                row = anyio.run(measure, fault, seed, Path(folder))
            rows.append(row)
            with arguments.results.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
            print(f"{fault} seed {seed}: exit {row['exit']} in {row['seconds']} s", flush=True)
    text = f"{table(rows)}\n\n{notes(rows)}"
    (arguments.results.parent / "README.md").write_text(f"{INTRODUCTION}\n{text}\n", encoding="utf-8")
    print(text)


def load(path: Path) -> list[dict[str, object]]:
    """The results so far; a torn last line is left out."""
    rows = []
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        try:
            rows.append(json.loads(line))
        except json.JSONDecodeError:
            continue
    return rows


if __name__ == "__main__":
    main()
