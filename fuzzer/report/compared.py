"""Two runs beside each other, for a terminal or a build log, and as a page with a plot."""

from __future__ import annotations

from rich import box
from rich.console import Console as Screen
from rich.table import Table
from rich.text import Text

from fuzzer.compare import CellChange, Compared
from fuzzer.report.text import clean
from fuzzer.report.words import p_value, percent, plural


def lines(compared: Compared) -> list[str]:
    """What is to be said of it in sentences, the worst first."""
    said = [f"regressed: {clean(text, 400)}" for text in compared.regressed]
    said += [f"changed at the ends: {clean(text, 300)}" for text in compared.builds]
    for state in ("new", "still there", "gone"):
        groups = [one for one in compared.findings if one.state == state]
        said += [f"{state}: {clean(one.key, 200)} ({one.old} times then, {one.new} now)" for one in groups]
    said += [f"only in {compared.old_run}: {clean(key, 200)}" for key in compared.only_old]
    said += [f"only in {compared.new_run}: {clean(key, 200)}" for key in compared.only_new]
    said += [
        f"{clean(cell.key, 200)}: at {percent(compared.confidence)} at most {percent(cell.at_most)} of the prompts got "
        "worse; a smaller change could not have been seen"
        for cell in compared.cells
        if cell.outcome == "no difference shown"
    ]
    return said


def verdict(compared: Compared) -> str:
    """The comparison in a line."""
    if compared.exit_status == 3:
        return f"CANNOT TELL: a cell of {compared.old_run} and {compared.new_run} has no judged prompt in common"
    if compared.exit_status:
        return f"WORSE: {plural(len(compared.regressed), 'regression')} from {compared.old_run} to {compared.new_run}"
    better = sum(cell.outcome == "better" for cell in compared.cells)
    what = f"better in {plural(better, 'cell')}" if better else "no significant difference"
    return f"NOT WORSE: {what} from {compared.old_run} to {compared.new_run}"


def show(compared: Compared, screen: Screen) -> None:
    """Print it."""
    screen.print(Text(clean(verdict(compared), 400), "bold red" if compared.exit_status else "bold green"))
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
    for name in ("cell", "then", "now", "worse", "better", "p worse", "p better", "accepted", "tokens/s"):
        table.add_column(name, overflow="fold")
    for cell in compared.cells:
        table.add_row(*map(Text, row(cell)))
    screen.print(table)
    for line in lines(compared):
        screen.print(Text(f"  - {line}"), soft_wrap=True)


def row(cell: CellChange) -> tuple[str, ...]:
    """A cell in words."""
    return (
        clean(cell.key, 120),
        f"{cell.old.k}/{cell.old.n}",
        f"{cell.new.k}/{cell.new.n}",
        str(cell.worse),
        str(cell.better),
        p_value(cell.p_worse),
        p_value(cell.p_better),
        _moved(cell.old_acceptance, cell.new_acceptance),
        _moved(cell.old_tokens_per_second, cell.new_tokens_per_second),
    )


def _moved(old: float | None, new: float | None) -> str:
    if old is None or new is None:
        return "-"
    return f"{old:.3g} -> {new:.3g}"
