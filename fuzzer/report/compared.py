"""Two runs beside each other, in words, for a terminal or a build log: 60 columns are enough."""

from __future__ import annotations

from typing import Final

from rich import box
from rich.console import Console as Screen
from rich.table import Table
from rich.text import Text

from fuzzer.compare import CellChange, Compared
from fuzzer.report.render import hang
from fuzzer.report.text import clean
from fuzzer.report.words import figure, p_value, percent, plural

COLUMNS: Final = ("cell", "then", "now", "worse", "better", "p worse", "p better", "accepted", "tokens/s", "outcome")
NARROW_COLUMNS: Final = ("cell", "then\nnow", "prompts", "p", "outcome")
_NARROW: Final = 110  # columns


def lines(compared: Compared) -> list[str]:
    """What is to be said of it in sentences, the worst first."""
    said = [f"regressed: {clean(text, 400)}" for text in compared.regressed]
    said += [f"changed at the ends: {clean(text, 300)}" for text in compared.builds]
    for state in ("new", "still there", "gone"):
        groups = [one for one in compared.findings if one.state == state]
        said += [f"{state}: {clean(one.key, 200)} ({one.old} times then, {one.new} now)" for one in groups]
    said += [f"only in {clean(compared.old_run, 100)}: {clean(key, 200)}" for key in compared.only_old]
    said += [f"only in {clean(compared.new_run, 100)}: {clean(key, 200)}" for key in compared.only_new]
    said += [
        f"{clean(cell.key, 200)}: at {percent(compared.confidence)} at most {percent(cell.at_most)} of the prompts got "
        "worse; a smaller change could not have been seen"
        for cell in compared.cells
        if cell.outcome == "no difference shown"
    ]
    return said


def verdict(compared: Compared) -> str:
    """The comparison in a line."""
    old, new = clean(compared.old_run, 100), clean(compared.new_run, 100)
    if compared.exit_status == 3:
        return f"CANNOT TELL: a cell of {old} and {new} has no judged prompt in common"
    if compared.exit_status:
        return f"WORSE: {plural(len(compared.regressed), 'regression')} from {old} to {new}"
    better = sum(cell.outcome == "better" for cell in compared.cells)
    what = f"better in {plural(better, 'cell')}" if better else "no significant difference"
    return f"NOT WORSE: {what} from {old} to {new}"


def show(compared: Compared, screen: Screen) -> None:
    """Print it."""
    hang(screen, Text(verdict(compared), "bold red" if compared.exit_status else "bold green"), "", "")
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    narrow = screen.width < _NARROW
    for name in NARROW_COLUMNS if narrow else COLUMNS:
        table.add_column(name, overflow="fold")
    for cell in compared.cells:
        table.add_row(*map(Text, narrow_row(cell) if narrow else row(cell)))
    screen.print(table)
    for line in lines(compared):
        hang(screen, Text(line), "  - ", "    ")


def row(cell: CellChange) -> tuple[str, ...]:
    """A cell in words, as `COLUMNS` names them."""
    return (
        clean(cell.key, 120),
        f"{cell.old.k}/{cell.old.n}",
        f"{cell.new.k}/{cell.new.n}",
        str(cell.worse),
        str(cell.better),
        p_value(cell.p_worse),
        p_value(cell.p_better),
        moved(cell.old_acceptance, cell.new_acceptance),
        moved(cell.old_tokens_per_second, cell.new_tokens_per_second),
        cell.outcome,
    )


def narrow_row(cell: CellChange) -> tuple[str, ...]:
    """The same in fewer columns, two lines each."""
    owner, *rest = clean(cell.key, 120).rsplit("/", 2)
    return (
        "/\n".join(filter(None, (owner, "/".join(rest)))),
        f"{cell.old.k}/{cell.old.n}\n{cell.new.k}/{cell.new.n}",
        f"{cell.worse} worse\n{cell.better} better",
        f"{p_value(cell.p_worse)}\n{p_value(cell.p_better)}",
        cell.outcome,
    )


def moved(old: float | None, new: float | None) -> str:
    """A figure then and now; a dash where one of them is not known."""
    if old is None or new is None:
        return "-"
    return f"{figure(old)} -> {figure(new)}"
