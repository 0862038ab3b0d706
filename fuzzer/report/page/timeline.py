"""Who was in flight with whom: a hand-drawn SVG, since no library draws this one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fuzzer.report.page.evidence import Bar
from fuzzer.report.words import plural

_ROW = 18
_TOP = 26
_LEAST = 0.6  # per cent of the width; a bar that ended at once can still be seen
_TICKS = 4


@dataclass(frozen=True, slots=True)
class Row:
    """A bar as drawn: per cent of the width, so that it fits every screen, and pixels from the top.

    ``role`` is victim, donor, neighbour or filler.
    """

    label: str
    role: str
    hint: str
    x: float
    y: float
    width: float
    first: float | None
    cut: bool


@dataclass(frozen=True, slots=True)
class Drawing:
    """A timeline ready for the page; ``ticks`` are (per cent, label) along the time axis."""

    height: int
    rows: tuple[Row, ...]
    ticks: tuple[tuple[float, str], ...]
    words: str
    roles: tuple[str, ...]
    cut: bool


def draw(bars: Sequence[Bar], victim: str, donor: str | None) -> Drawing | None:
    """Lay the bars out on one time axis in milliseconds, or None where there is nothing to show."""
    if not bars:
        return None
    start = min(bar.sent_ns for bar in bars)
    end = max(max(bar.end_ns or bar.sent_ns for bar in bars), start + 1_000)

    def at(moment: int) -> float:
        return round(100 * (moment - start) / (end - start), 2)

    rows = tuple(_row(bar, index, at, victim, donor, start, end) for index, bar in enumerate(bars))
    step = (end - start) / _TICKS
    ticks = tuple((at(int(start + step * n)), f"{step * n / 1e6:.3g} ms") for n in range(_TICKS))
    roles = [row.role for row in rows]
    words = (
        f"{plural(len(rows), 'exchange')} over {(end - start) / 1e6:.4g} ms: the victim, "
        f"{'its donor, ' if 'donor' in roles else ''}and {len(rows) - 1 - ('donor' in roles)} more in flight with it"
    )
    shown = tuple(role for role in ("victim", "donor", "neighbour", "filler") if role in roles)
    height = _TOP + _ROW * len(rows) + 6
    return Drawing(height, rows, ticks, words, shown, any(row.cut for row in rows))


def _row(bar: Bar, index: int, at: Callable[[int], float], victim: str, donor: str | None, start: int, end: int) -> Row:
    stop = bar.end_ns if bar.end_ns is not None else end
    role = "victim" if bar.key == victim else "donor" if bar.key == donor else _kind(bar)
    first = f", first token after {(bar.first_ns - bar.sent_ns) / 1e6:.4g} ms" if bar.first_ns else ""
    took = f"sent at {(bar.sent_ns - start) / 1e6:.4g} ms{first}, took {(stop - bar.sent_ns) / 1e6:.4g} ms"
    return Row(
        label=f"{bar.prompt} {role}" if role in ("victim", "donor") else bar.prompt,
        role=role,
        hint=f"{role}: {bar.key} ({bar.outcome}), {took}",
        x=at(bar.sent_ns),
        y=_TOP + _ROW * index,
        width=round(max(at(stop) - at(bar.sent_ns), _LEAST), 2),
        first=at(bar.first_ns) if bar.first_ns else None,
        cut=bar.outcome not in ("ok",),
    )


def _kind(bar: Bar) -> str:
    return "filler" if bar.phase == "filler" else "neighbour"
