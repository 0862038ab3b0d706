"""What the reports of a very large run cost: seconds, memory and bytes.

    python -m benchmarks.reports [--exchanges 100000]

A run directory is *generated*: prompts of the real families, a closed loop at ten levels, right answers but for one in
a hundred, which is a neighbour's; a finding each. Every report and export is then written in a process of its own.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from fuzzer.finding import Donor, Finding, dedupe_key
from fuzzer.history.journal import Journal
from fuzzer.history.records import Arm, Done, Opened, Prompt, Received, Sent, Usage
from fuzzer.manifest import FINDINGS, HISTORY, new_manifest, write_manifest
from fuzzer.plan import Cell, Endpoint, Plan, Policy
from fuzzer.prompts import PromptPool
from fuzzer.stats import clopper_pearson_upper, wilson
from fuzzer.summary import ArmCounts, Bound, CellSummary, FindingGroup, Interval, Rate, Reason, Summary

LADDER = (1, 2, 3, 4, 5, 6, 8, 12, 16, 32)
PROMPTS = 3_000
EVERY = 100  # one answer in so many is a neighbour's
STEP_NS = 1_000_000
BASE_NS = 1_700_000_000_000_000_000

WORK = {
    "summary.json": "from fuzzer.report.files import load_summary, summary_json as f; f(load_summary(d))",
    "report.md": "from fuzzer.report.markdown import markdown as f; f(load_summary(d))",
    "junit.xml": "from fuzzer.report.junit import junit as f; f(load_summary(d))",
    "report.html": "from fuzzer.report.page import html as f; f(load_summary(d), d)",
    "all of them (specfuzz report)": "from fuzzer.report.files import write_reports as f; f(d, load_summary(d))",
    "export --csv": "from fuzzer.report.export import export_run as f; list(f(d, ['csv'], d))",
    "export --parquet": "from fuzzer.report.export import export_run as f; list(f(d, ['parquet'], d))",
}
HEAD = "import pathlib, sys; from fuzzer.report.files import load_summary; d = pathlib.Path(sys.argv[1]); "


def plan() -> Plan:
    return Plan(
        candidates=(Endpoint(name="candidate", url="http://127.0.0.1:8001", lm_head="nvfp4"),),
        references=(Endpoint(name="reference", url="http://127.0.0.1:8000", lm_head="nvfp4"),),
        concurrency=LADDER,
        schedules=("closed-loop",),
        policy=Policy(requests=1),
    )


class Generator:
    """Writes a history, and keeps what its summary needs."""

    def __init__(self, directory: Path, exchanges: int) -> None:
        self.directory = directory
        self.plan = plan()
        pool = PromptPool.of(self.plan)
        self.prompts = [pool.prompt(number) for number in range(PROMPTS)]
        self.each = exchanges // (2 * len(LADDER))
        self.clock = BASE_NS
        self.failed: Counter[str] = Counter()
        self.first: dict[str, Finding] = {}
        self.counts: Counter[str] = Counter()

    def write(self) -> None:
        manifest = new_manifest(self.plan, "generated")
        write_manifest(self.directory, manifest)
        with Journal(self.directory / HISTORY) as journal, (self.directory / FINDINGS).open("w") as findings:
            journal.append(Opened(run_id="generated", at_ns=BASE_NS))
            for prompt in self.prompts:
                journal.append(prompt)
            for cell in self.plan.cells():
                if cell.role == "gated":
                    for arm in ("candidate", "reference"):
                        for record, finding in self.stage(cell, arm):
                            journal.append(record)
                            if finding is not None:
                                findings.write(finding.model_dump_json() + "\n")
        summary = self.summary(manifest.plan_hash, manifest.started)
        (self.directory / "summary.json").write_text(summary.model_dump_json(), encoding="utf-8")

    def stage(self, cell: Cell, arm: Arm) -> Iterator[tuple[Sent | Done, Finding | None]]:
        """A closed loop: the next is sent when one ends, N in flight; the answers of a hundred are one neighbour's."""
        waiting: list[tuple[Sent, Prompt]] = []
        for index in range(self.each):
            prompt = self.prompts[index % PROMPTS]
            self.clock += STEP_NS
            key = f"{cell.key}#0/measure0/{arm}/{index}"
            sent = Sent(
                key=key, arm=arm, endpoint=arm, cell=cell.key, phase="measure", block=0, index=index, prompt=prompt.id,
                concurrency=cell.concurrency, exposure=0, max_tokens=256, sent_ns=self.clock,
                in_flight=cell.concurrency,
            )  # fmt: skip
            yield sent, None
            waiting.append((sent, prompt))
            if len(waiting) == cell.concurrency:
                yield self.done(*waiting.pop(0), cell, waiting)
        while waiting:
            yield self.done(*waiting.pop(0), cell, waiting)

    def done(
        self, sent: Sent, prompt: Prompt, cell: Cell, others: list[tuple[Sent, Prompt]]
    ) -> tuple[Done, Finding | None]:
        self.clock += STEP_NS
        bled = sent.arm == "candidate" and sent.index % EVERY == 0 and bool(others)
        donor = others[-1] if bled else (sent, prompt)
        received = Received(
            outcome="ok", text=donor[1].answer, finish_reason="stop", usage=Usage(completion_tokens=24), parts=24,
            first_ns=self.clock - STEP_NS // 2, end_ns=self.clock,
        )  # fmt: skip
        done = Done(key=sent.key, min_in_flight=1, max_in_flight=cell.concurrency, received=received)
        return done, self.finding(sent, donor, cell) if bled else None

    def finding(self, sent: Sent, donor: tuple[Sent, Prompt], cell: Cell) -> Finding:
        span = donor[1].answer[:60]
        found = Finding(
            key=dedupe_key("bleed", "concurrent", "candidate", f"c{cell.concurrency}"), kind="bleed",
            sub_kind="concurrent", certainty="certain", arm="candidate", endpoint="candidate", cell=cell.key,
            phase="measure", exchange=sent.key, prompt=sent.prompt,
            summary=f"candidate: the reply to {sent.prompt} holds the answer of {donor[1].id}: {span!r}",
            donor=Donor(prompt=donor[1].id, exchange=donor[0].key, channel="answer", span=span, when="concurrent"),
        )  # fmt: skip
        self.failed[cell.key] += 1
        self.counts[found.key] += 1
        self.first.setdefault(found.key, found)
        return found

    def summary(self, plan_hash: str, started: str) -> Summary:
        gated = self.plan.gated
        groups = tuple(
            FindingGroup(
                key=key, kind="bleed", sub_kind="concurrent", certainty="certain", count=self.counts[key],
                arm="candidate", breaks_gate=True, cells=(found.cell,), example=found,
            )
            for key, found in self.first.items()
        )  # fmt: skip
        return Summary(
            tool_version="0", run_id="generated", started=started, seconds=(self.clock - BASE_NS) / 1e9,
            verdict="fail", exit_status=1, scope="Generated.", plan_hash=plan_hash, seed=0, reference_used=True,
            max_wrong_rate=0.01, confidence=0.95, exchanges=2 * self.each * len(gated), findings=groups,
            reasons=tuple(
                Reason(code="certain-finding", cell=group.cells[0], message=f"{group.key}: {group.count}")
                for group in groups
            ),
            cells=tuple(self.cell(cell) for cell in gated),
        )  # fmt: skip

    def cell(self, cell: Cell) -> CellSummary:
        k, n = self.failed[cell.key], self.each
        low, high = wilson(k, n)
        return CellSummary(
            key=cell.key, role="gated", candidate=cell.candidate, lm_head=cell.lm_head, concurrency=cell.concurrency,
            schedule=cell.schedule, status="fail" if k else "pass",
            rate=Rate(k=k, n=n, wilson=Interval(low=low, high=high)),
            arms={"candidate": ArmCounts(sent=n, completed=n, right=n - k, wrong={"another-question": k})},
            bound=Bound(value=clopper_pearson_upper(k, n, 0.95), confidence=0.95),
        )  # fmt: skip


def measured(work: str, directory: Path) -> tuple[float, float]:
    """Wall seconds and peak megabytes of a child process that does the work."""
    code = f"{HEAD}{work}; import resource; print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    began = time.monotonic()
    out = subprocess.run([sys.executable, "-c", code, str(directory)], check=True, capture_output=True, text=True)
    return time.monotonic() - began, int(out.stdout.split()[-1]) / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--exchanges", type=int, default=100_000)
    parser.add_argument("--keep", type=Path, help="Generate into this directory and leave it.")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        directory = asked.keep or Path(scratch) / "run"
        directory.mkdir(parents=True)
        Generator(directory, asked.exchanges).write()
        size = (directory / HISTORY).stat().st_size / 1e6
        print(f"{asked.exchanges:,} exchanges generated, history.jsonl {size:.0f} MB, load {os.getloadavg()[0]:.1f}")
        print("\n| what | seconds | CPU seconds | peak MB |\n|---|---|---|---|")
        for name, work in WORK.items():
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            seconds, peak = measured(work, directory)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            print(f"| {name} | {seconds:.1f} | {cpu:.1f} | {peak:.0f} |", flush=True)
        print("\n| file | bytes |\n|---|---|")
        for path in sorted(directory.iterdir()):
            print(f"| {path.name} | {path.stat().st_size:,} |")


if __name__ == "__main__":
    main()
