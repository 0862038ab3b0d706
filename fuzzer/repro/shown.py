"""What the commands print: tables and sentences, with every foreign text cleaned."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fuzzer.report.text import clean
from fuzzer.report.words import percent, plural
from fuzzer.repro.bundle import Bundle, Tally
from fuzzer.repro.known import Known
from fuzzer.repro.presets import Preset
from fuzzer.repro.sweep import Line, Reproduction
from fuzzer.stats.intervals import wilson


def counted(tally: Tally) -> str:
    """``8 of 24 replays (33.3 %; 95 % 18 % to 53 %)``."""
    share = percent(tally.k / tally.n) if tally.n else "unknown"
    return f"{tally.k} of {tally.n} {tally.unit} ({share}; 95 % {percent(tally.low)} to {percent(tally.high)})"


def groups(rows: Sequence[Known]) -> Iterator[str]:
    """The groups of findings, a few lines each."""
    if not rows:
        yield "no findings on the candidate in these runs"
    for row in rows:
        yield f"{clean(row.key)} ({row.schedule})"
        yield f"  {row.certainty}; {plural(row.count, 'finding')}; {row.steady}"
        seen = row.first_seen if row.first_seen == row.last_seen else f"{row.first_seen} to {row.last_seen}"
        yield f"  seen {seen}"
        if row.bundle:
            yield f"  smallest bundle: {plural(row.size or 0, 'request')}: {clean(row.bundle, 300)}"
        elif row.unbundled:
            yield f"  {row.unbundled}"


def shrunk(bundle: Bundle) -> Iterator[str]:
    """What a reduction came to."""
    result = bundle.shrunk
    if result is None:
        return
    yield f"{clean(bundle.key)}: from {plural(result.was, 'request')} to {bundle.cohort.size}"
    yield f"  {clean(result.sentence, 300)}"
    yield f"  the whole failed in {counted(result.baseline)}"
    if result.filled is not None:
        yield f"  with one neighbour in the place of all that fills the engine's memory: {counted(result.filled)}"
    yield f"  what is left, on fresh replays: {counted(result.final)}"
    yield f"  {plural(result.replays, 'replay')}, {plural(result.requests, 'request')} in all; {result.rule}"
    if not result.finished:
        yield "  the budget ended it: it may get smaller still"


def reproduction(found: Reproduction, preset: Preset) -> Iterator[str]:
    """The table of the public report beside the new one, and the outcome."""
    yield from _table(found.lines, preset)
    yield ""
    yield f"{found.outcome}: {clean(found.why, 600)}"
    if found.confirmed is not None:
        yield f"fresh requests: {counted(found.confirmed)}"
    if found.reduced is not None:
        yield from shrunk(found.reduced)
    if found.bundle is not None:
        yield f"bundle: {clean(str(found.bundle), 300)}"
        yield f"again, on any build: specfuzz replay {clean(str(found.bundle), 300)} --candidate URL"


def _table(lines: Sequence[Line], preset: Preset) -> Iterator[str]:
    told = [line for line in lines if line.told is not None]
    here = [line for line in lines if line.here is not None]
    width = max((len(line.what) for line in lines), default=0)
    if told:
        yield f"public report ({preset.report}):"
        for line in told:
            if line.told is not None:
                yield f"  {line.what:{width}}  {_counts(line.told.wrong, line.told.of)}"
    elif preset.report:
        yield f"modelled on {preset.report}"
    yield "here:"
    for line in here:
        if line.here is not None:
            yield f"  {clean(line.what):{width}}  {_counts(line.here.k, line.here.n)}"


def _counts(k: int, n: int) -> str:
    if not n:
        return "none judged"
    low, high = wilson(k, n)
    return f"{k}/{n} wrong ({percent(k / n)}; 95 % {percent(low)} to {percent(high)})"
