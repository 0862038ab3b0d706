"""Two runs beside each other: the same words on a screen of any width and on a page with a plot."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fuzzer.compare import CellChange, Compared, FindingChange, compare
from fuzzer.errors import UsageError
from fuzzer.report.compared import show
from fuzzer.report.page.compared import comparison_page, write_comparison
from fuzzer.report.render import open_screen
from fuzzer.stats import clopper_pearson_upper, mcnemar
from fuzzer.summary import Rate

from . import factory
from .golden import unpack
from .test_page import Outline, inert


def change(key: str, worse: int, better: int, n: int = 336) -> CellChange:
    p = mcnemar(worse, better, "greater")
    return CellChange(
        key=key, n=n, old=Rate(k=better + 1, n=n), new=Rate(k=worse + 1, n=n), worse=worse, better=better, p_worse=p,
        p_better=1.0, at_most=clopper_pearson_upper(worse, n, 0.95) if n else 1.0,
        outcome="nothing in common" if not n else "worse" if p < 0.01 else "no difference shown",
        old_acceptance=2.9, new_acceptance=2.1, old_tokens_per_second=1000.0, new_tokens_per_second=1200.0,
    )  # fmt: skip


def compared(*cells: CellChange, hostile: str = "") -> Compared:
    worse = [cell for cell in cells if cell.outcome == "worse"]
    return Compared(
        old_run=f"monday{hostile}", new_run="tuesday", confidence=0.95, exit_status=1 if worse else 0,
        regressed=tuple(f"{cell.key}: {cell.worse} of {cell.n} prompts fail now {hostile}" for cell in worse),
        cells=cells, only_old=(), only_new=(f"fp8/c8/rounds{hostile}",),
        findings=(FindingChange(key=f"bleed/stale{hostile}", state="new", certain=True, old=0, new=3),),
        builds=(f"candidate: engine was vllm 1 and is vllm 2{hostile}",),
    )  # fmt: skip


BOTH = compared(change("candidate/nvfp4/c8/closed-loop", 31, 2), change("candidate/nvfp4/c8/burst-solo", 1, 1))


@pytest.mark.parametrize("width", [60, 80, 120, 160])
def test_it_fits_the_terminal(width: int) -> None:
    out = io.StringIO()
    show(BOTH, open_screen(out, width))
    lines = out.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    assert lines[0].startswith("WORSE: 1 regression from monday to tuesday")
    text = " ".join(out.getvalue().split())
    for said in ("31", "worse", "no difference", "regressed: candidate/nvfp4/c8/closed-loop"):
        assert said in text


def test_the_page_shows_a_plot_and_the_cells(tmp_path: Path) -> None:
    write_comparison(tmp_path / "new" / "compare.html", BOTH)
    text = (tmp_path / "new" / "compare.html").read_text(encoding="utf-8")
    inert(text)
    assert sum(tag == "svg" for tag, _ in Outline(text).tags) == 1
    assert '<tr class="bad">' in text
    assert "WORSE: 1 regression" in text


def test_nothing_in_common_leaves_no_plot() -> None:
    text = comparison_page(compared(change("candidate/nvfp4/c8/closed-loop", 0, 0, n=0)))
    assert "<svg" not in text


def test_hostile_names_stay_text() -> None:
    hostile = compared(change(f"c/<script>alert(1)</script>{factory.HOSTILE[:300]}", 31, 2), hostile=factory.HOSTILE)
    text = comparison_page(hostile)
    inert(text)
    assert "\x1b" not in text
    out = io.StringIO()
    show(hostile, open_screen(out, 80))
    assert all(char == "\n" or char.isprintable() for char in out.getvalue())


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda run: run["plan"]["sampling"].update(max_tokens=64), "sampling is "),
        (lambda run: run["endpoints"][0].update(model="another"), "candidate candidate served the model "),
        (lambda run: run.update(interrupted=True), "was interrupted; finish it first: specfuzz resume "),
    ],
)
def test_unlike_runs_are_refused_with_the_reason(
    tmp_path: Path, change: Callable[[dict[str, Any]], None], why: str
) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    for folder in (old, new):
        folder.mkdir()
        unpack(folder)
    run = json.loads((new / "run.json").read_text(encoding="utf-8"))
    change(run)
    (new / "run.json").write_text(json.dumps(run), encoding="utf-8")
    with pytest.raises(UsageError, match=why):
        compare(old, new)
