"""The trend in words and rows, for the console and the page alike; names from files are spelled out harmlessly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from fuzzer.report.text import clean
from fuzzer.report.words import figure, listed, p_value, percent, plural
from fuzzer.stats import wilson
from fuzzer.trend.changes import Change
from fuzzer.trend.chart import ALARM, FEWEST_ANSWERS, FEWEST_NIGHTS, Point, Series, why_too_little
from fuzzer.trend.nights import TrendBoot
from fuzzer.trend.pace import DEVIATIONS, FEWEST, FLOOR, Moved, speed_up
from fuzzer.trend.story import ToldNight, Trend

UNEVEN: Final = 0.01  # the chance under which nights that vary by chance alone would vary so much
_MOST: Final = 20  # lines of one list

NIGHT_COLUMNS: Final = ("night", "standing", "what", "verdict", "failed", "rate", "compared", "findings", "run")
CELL_COLUMNS: Final = (
    "cell", "standing", "failed", "rate (95 %)", "before", "p", "spread", "reference", "accepted", "tokens/s",
    "speed-up",
)  # fmt: skip

RULE: Final = (
    f"a cell is flagged if its failure rate is higher than that of the earlier nights of the same cell together "
    f"(Fisher's exact test, 1935, one-sided, adjusted by Holm, 1979, over the night's cells, p < {ALARM:g}): of nights "
    f"in which nothing changed at most {percent(ALARM)} are flagged, if nights differ by chance alone. It takes "
    f"{FEWEST_NIGHTS} earlier nights and {FEWEST_ANSWERS} earlier answers. A new certain finding that fails a gate "
    f"flags a night, too"
)
SPREAD: Final = (
    "spread: how much the earlier nights vary, over what chance explains (design effect); over 1 it widens the test "
    "(Rao and Scott, 1992), which makes false alarms rarer and does not rule them out"
)
PACE: Final = (
    f"not an alarm: outside the median of {FEWEST} or more earlier nights by over {DEVIATIONS:g} scaled median "
    f"absolute deviations and over {percent(FLOOR)}; no false-alarm rate is claimed"
)


def verdict(trend: Trend) -> str:
    """The last night in a line."""
    night = trend.last
    if night is None:
        return "TOO LITTLE TO COMPARE: no finished night here"
    name = f"{day(night)} ({night.sort}, {clean(night.run_id, 60)})"
    if night.standing == "too little":
        return f"TOO LITTLE TO COMPARE: {name} has no cell with {FEWEST_NIGHTS} earlier nights of its kind"
    if night.standing == "not flagged":
        return f"NOT FLAGGED: {name} is as the nights before it in {plural(night.compared, 'compared cell')}"
    why = [plural(len(night.flagged), "cell")] if night.flagged else []
    why += [plural(len(night.alarms), "new certain finding")] if night.alarms else []
    return f"FLAGGED: {name}: {listed(why)}"


def day(night: ToldNight) -> str:
    """When it began, to the minute."""
    return clean(night.started[:16].replace("T", " "), 40)


def flags(trend: Trend, night: ToldNight) -> Iterator[str]:
    """Why a night was flagged, a line a reason."""
    for series, point in trend.points(night.run_id):
        if point.state == "flagged" and point.adjusted is not None:
            yield (
                f"{cell(series)}: {_estimate(point.k, point.n)} failed, against "
                f"{_estimate(point.before_k, point.before_n)} in {plural(point.before, 'earlier night')}; "
                f"p {p_value(point.adjusted)}, adjusted"
            )
    for change in night.alarms:
        yield f"new certain finding {found(change)}: {times(change.count)}, in none of {change.before} earlier nights"


def folded(name: str) -> str:
    """A cell's name on two lines, for a narrow screen."""
    owner, *rest = name.rsplit("/", 2)
    return "/\n".join(filter(None, (owner, "/".join(rest))))


def cell(series: Series) -> str:
    """A cell's name."""
    return clean(series.key.cell, 160)


def found(change: Change) -> str:
    """A finding's key and schedule."""
    return f"{clean(change.key, 160)} under {clean(change.schedule, 40)}"


def times(count: int) -> str:
    """``once``, ``3 times``."""
    return "once" if count == 1 else f"{count:,} times"


def findings(night: ToldNight) -> list[str]:
    """New, known and gone, a line each."""
    said = []
    for change in night.changes:
        seen = f"in {change.seen} of {plural(change.before, 'earlier night')}"
        count = "" if change.state == "gone" else f", {times(change.count)}"
        before = "no earlier night ran this schedule" if change.state == "first" else seen
        said.append(f"{change.state}: {found(change)}, {change.certainty}{count}; {before}")
    return _short(said)


def boots(night: ToldNight) -> list[str]:
    """The spread over the candidate's boots; nothing with one boot."""
    if len(night.boots) < 2:
        return []
    judged = [boot for boot in night.boots if boot.n]
    said = [f"boot {boot.number} is bad: {_boot(boot)} failed" for boot in night.boots if boot.bad]
    if judged:
        low, high = (pick(judged, key=lambda boot: boot.k / boot.n) for pick in (min, max))
        said.append(
            f"{plural(len(night.boots), 'boot')}: from {_boot(low)} in boot {low.number} to {_boot(high)} in boot "
            f"{high.number}"
        )
    return _short(said)


def _boot(boot: TrendBoot) -> str:
    return _estimate(boot.k, boot.n)


def pace(night: ToldNight) -> list[str]:
    """Acceptance and speed that moved."""
    return _short([_moved(one) for one in night.moved])


def _moved(one: Moved) -> str:
    change = f", {abs(one.now / one.usual - 1):.0%} {'up' if one.now > one.usual else 'down'}" if one.usual else ""
    return (
        f"{clean(one.key.cell, 160)}: {one.figure} {figure(one.now)}, usually {figure(one.usual)} "
        f"(median of {one.nights} nights){change}"
    )


def uneven(trend: Trend) -> list[str]:
    """Cells whose earlier nights vary more than chance explains."""
    night = trend.last
    return _short(
        [
            f"{cell(series)}: the earlier nights vary {point.effect:.1f} times as much as chance explains; the test "
            "allows for that as far as they tell it, and a flag here means less"
            for series, point in (trend.points(night.run_id) if night else ())
            if _varies(point)
        ]
    )


def _varies(point: Point) -> bool:
    """Whether the earlier nights vary by more than chance: Pearson's chi-squared test of their design effect."""
    if point.effect is None:
        return False
    from scipy.stats import chi2

    freedom = point.before - 1
    return float(chi2.sf(point.effect * freedom, freedom)) < UNEVEN


def left_out(trend: Trend) -> list[str]:
    """What the trend does not speak of."""
    said = [f"{clean(one.directory, 200)}: not read: {clean(one.why, 300)}" for one in trend.unread]
    said += [f"{clean(name, 200)}: has not ended" for name in trend.unfinished]
    if trend.earlier:
        said.append(f"{plural(trend.earlier, 'earlier night')} not shown, and compared with all the same")
    if not trend.stored:
        said.append("the index cannot be written here: made in memory, without the nights whose directories are gone")
    return _short(said)


def night_row(trend: Trend, night: ToldNight) -> tuple[str, ...]:
    """A night as `NIGHT_COLUMNS` names it."""
    states = Counter(change.state for change in night.changes)
    return (
        day(night),
        night.standing,
        night.sort,
        night.verdict,
        f"{night.k}/{night.n}",
        percent(night.k / night.n) if night.n else "-",
        f"{night.compared} of {night.cells}" + (f", {len(night.flagged)} flagged" if night.flagged else ""),
        ", ".join(f"{states[state]} {state}" for state in ("new", "first", "known") if states[state]) or "-",
        clean(night.run_id, 60) + ("" if night.directory else " (directory gone)"),
    )


def cell_row(series: Series, point: Point) -> tuple[str, ...]:
    """A cell of a night as `CELL_COLUMNS` names it."""
    ratio = speed_up(point)
    return (
        cell(series),
        point.state if point.state != "too little" else f"too little: {why_too_little(point)}",
        f"{point.k}/{point.n}",
        f"{percent(point.k / point.n)} ({_interval(point)})" if point.n else "-",
        f"{_fraction(point.before_k, point.before_n)}, {plural(point.before, 'night')}" if point.before else "-",
        p_value(point.adjusted) if point.adjusted is not None else "-",
        f"{point.effect:.1f}" if point.effect is not None else "-",
        _fraction(point.reference_k, point.reference_n),
        figure(point.acceptance) if point.acceptance is not None else "-",
        figure(point.tokens_per_second) if point.tokens_per_second is not None else "-",
        f"x{figure(ratio)}" if ratio is not None else "-",
    )


def _interval(point: Point) -> str:
    return f"{percent(point.low)} to {percent(point.high)}"


def _fraction(k: int, n: int) -> str:
    return f"{k}/{n}" if n else "-"


def _estimate(k: int, n: int) -> str:
    """``0.24 % (12/5000; 0.14 % to 0.42 %)``."""
    if not n:
        return "nothing judged"
    low, high = wilson(k, n)
    return f"{percent(k / n)} ({k}/{n}; {percent(low)} to {percent(high)})"


def _short(lines: list[str]) -> list[str]:
    more = len(lines) - _MOST
    return lines if more <= 0 else [*lines[:_MOST], f"... and {more} more: see --json"]


def freed(size: int) -> str:
    """A number of bytes for people."""
    value, units = float(size), ["bytes", "kB", "MB", "GB"]
    while value >= 1000 and len(units) > 1:
        value, units = value / 1000, units[1:]
    return f"{figure(value)} {units[0]}" if units[0] != "bytes" else f"{size} bytes"
