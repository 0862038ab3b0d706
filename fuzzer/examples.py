"""The prompts of ``--fuzz`` in a run's directory; Hypothesis is only imported where they were asked for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fuzzer.finding import read_findings
from fuzzer.history.records import Prompt
from fuzzer.manifest import FINDINGS, FUZZ
from fuzzer.plan import Plan


def drawn(plan: Plan) -> tuple[Prompt, ...]:
    """The prompts that the plan asks to draw."""
    if not plan.fuzz:
        return ()
    from fuzzer.prompts import fuzz

    return fuzz.draw(plan.seed, plan.fuzz, plan.families)


def keep(directory: Path, prompts: Sequence[Prompt]) -> None:
    """Keep what was drawn: another version of Hypothesis would draw otherwise when the run is resumed."""
    if prompts:
        from fuzzer.prompts import fuzz

        fuzz.save(directory / FUZZ, prompts)


def kept(directory: Path, plan: Plan) -> tuple[Prompt, ...]:
    """What the run drew when it began."""
    if not plan.fuzz:
        return ()
    from fuzzer.prompts import fuzz

    return fuzz.load(directory / FUZZ)


def keep_interesting(directory: Path, plan: Plan) -> None:
    """Write those that some finding names into a file of their own, for a test of one's own."""
    if plan.fuzz and not plan.redact_content:
        from fuzzer.prompts import fuzz

        fuzz.save(
            directory / fuzz.EXAMPLES, fuzz.interesting(read_findings(directory / FINDINGS), kept(directory, plan))
        )
