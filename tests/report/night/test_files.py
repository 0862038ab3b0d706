"""The three files and the terminal: what stands in them, and that hostile text is inert in all of them."""

from __future__ import annotations

import io
import json
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from hypothesis import Phase, given, settings
from jsonschema import Draft202012Validator
from junitparser import JUnitXml

from fuzzer.errors import HistoryError
from fuzzer.inert import visible
from fuzzer.night import Boot, Drift, Night, Outage
from fuzzer.report.night import TrendLine, TrendNote, render_night, write_night
from fuzzer.report.night.junit import junit
from fuzzer.report.render import open_screen
from fuzzer.report.schema import schema, schema_text, shipped
from fuzzer.report.sections import LIMIT

from ..factory import Terminal
from ..test_hostile import FRAGMENTS, TEXTS
from ..test_junit import outcomes
from ..test_markdown import harmless
from ..test_page import Outline
from . import factory


def printed(night: Night, width: int, trend: TrendNote | None = None) -> str:
    out = io.StringIO()
    render_night(night, open_screen(out, width), Path("reports/soak-1"), trend)
    return out.getvalue()


def hostile_night(text: str) -> tuple[Night, TrendNote]:
    """A night that holds the text wherever a user or a server has a say."""
    night = factory.bad_boot()
    leg = factory.leg(3, 2, bled=1)
    count = replace(leg.cells[-1], key=text, candidate=text, lm_head=text)
    found = replace(leg.findings[-1], key=text, schedule=text, example=text)
    leg = replace(
        leg, run_id=text, families=(text,), started=text, ended=text, reasons=(text,), cells=(count,), findings=(found,)
    )  # fmt: skip
    cell = night.cells[-1].model_copy(
        update={"key": text, "candidate": text, "lm_head": text, "status": "fail", "reasons": (text,)}
    )
    finding = night.findings[0].model_copy(
        update={
            "key": text, "schedule": text, "first_seen": text, "last_seen": text, "bundle": text, "example": text,
            "breaks": True,
        }
    )  # fmt: skip
    whole = night.model_copy(
        update={
            "night_id": text, "scope": text, "tool_version": text, "plan_hash": text, "started": text, "ended": text,
            "reasons": (night.reasons[0].model_copy(update={"cell": text, "message": text}),),
            "cells": (cell,), "findings": (finding,), "legs": (*night.legs[:4], leg),
            "boots": (Boot(number=1, since=text, why=text, legs=1, k=1, n=2, p=0.1, bad=True),),
            "drifts": (Drift(on="all", candidate=text, legs=2, p=0.1, early=(0, 1), late=(1, 1), flagged=True),),
            "outages": (Outage(end=text, since=text, seconds=3.0, why=text),),
        }
    )  # fmt: skip
    return whole, TrendNote((TrendLine(text, text, "pass", 0, 1, True, text),), text, frozenset())


def inert(page: str) -> None:
    """Nothing in the page starts or loads; a link stays in the page or beside it."""
    outline = Outline(page)
    assert sum(tag == "script" for tag, _ in outline.tags) == 1
    assert {tag for tag, _ in outline.tags}.isdisjoint({"iframe", "object", "embed", "img", "base", "form", "video"})
    for tag, attributes in outline.tags:
        assert not any(name.startswith("on") or name in ("src", "action") for name in attributes), tag
        for target in (attributes.get("href"), attributes.get("xlink:href")):
            assert target in (None, "data:,") or urlsplit(str(target))[:2] == ("", ""), (tag, target)


def check(folder: Path, text: str) -> None:
    night, trend = hostile_night(text)
    page, markdown, xml = (path.read_text(encoding="utf-8") for path in sorted(write_night(folder, night, trend),
                           key=lambda path: ("night.html", "night.md", "junit.xml").index(path.name)))  # fmt: skip
    inert(page)
    harmless(markdown)
    assert len(markdown) < LIMIT
    JUnitXml.fromstring(xml.encode())
    shown = {width: printed(night, width, trend) for width in (60, 140)}
    for whole in (page, markdown, xml, *shown.values()):
        assert {char for char in whole if not visible(char)} <= {"\n", "\t", "\u200b"}
    assert all("\u200b" not in each and "\t" not in each for each in shown.values())


@settings(max_examples=4, deadline=None, phases=(Phase.explicit, Phase.reuse, Phase.generate))
@given(text=TEXTS)
def test_any_mixture_is_inert_in_every_format(text: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    check(tmp_path_factory.mktemp("night"), text)


def test_all_of_it_at_once_and_much_of_it(tmp_path: Path) -> None:
    check(tmp_path, "".join(FRAGMENTS) * 200)
    assert (tmp_path / "night.html").stat().st_size < 1_000_000


def test_500_legs_make_a_page_under_a_megabyte(tmp_path: Path) -> None:
    write_night(tmp_path, factory.clean(500), factory.trend())
    page = (tmp_path / "night.html").read_text(encoding="utf-8")
    assert len(page.encode()) < 1_000_000
    assert len((tmp_path / "night.md").read_text(encoding="utf-8")) < LIMIT
    legs = page[page.index('<table id="t-legs"') :]
    assert legs[: legs.index("</table>")].count("<tr") == 501
    assert len(re.findall(r'<rect class="good (?:rotation|findings|anchor)"', page)) == 500


def test_the_page_answers_the_minute_and_links_the_trend(tmp_path: Path) -> None:
    write_night(tmp_path, factory.bleeding(), factory.trend())
    page = (tmp_path / "night.html").read_text(encoding="utf-8")
    assert 'concurrency 16: <strong class="bad">NO</strong>' in page
    assert 'concurrency 5: <strong class="unsure">NOT CLEARED</strong>' in page
    assert "first in leg 18" in re.sub(r"<[^>]+>", "", page)
    assert f"specfuzz replay {tmp_path}/bundles/bleed-concurrent" in page
    assert 'href="../trend.html"' in page
    assert page.index(factory.BLEED) < page.index(factory.NEAR)


def test_a_clean_night_clears_its_levels_and_no_other(tmp_path: Path) -> None:
    write_night(tmp_path, factory.clean())
    page = (tmp_path / "night.html").read_text(encoding="utf-8")
    assert page.count('<strong class="good">YES</strong>') == 3
    assert "any other level" in page
    assert "How do I replay it?" not in page


def test_a_night_that_ended_before_its_first_leg_can_be_told(tmp_path: Path) -> None:
    bare = {"legs": (), "cells": (), "findings": (), "boots": (), "drifts": (), "verdict": "unavailable"}
    night = factory.clean().model_copy(update=bare)
    write_night(tmp_path, night)
    assert "no cell was measured" in (tmp_path / "night.html").read_text(encoding="utf-8")
    assert "UNAVAILABLE" in printed(night, 80)


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(HistoryError, match="cannot write the night's report into"):
        write_night(tmp_path / "gone", factory.clean(1))


def cases(night: Night, suite: str) -> dict[str, str]:
    return outcomes(ET.fromstring(junit(night).encode()), suite)  # noqa: S314 - our own output


def test_junit_has_a_case_a_cell_a_boot_and_a_drift_test() -> None:
    night = factory.bad_boot()
    assert cases(night, "cells").keys() == {cell.key for cell in night.cells}
    assert cases(night, "boots") == {f"boot {n}": "failure" if n == 3 else "passed" for n in range(1, 6)}
    assert cases(night, "drift") == {"candidate, anchors": "passed"}
    assert cases(night, "verdict") == {"verdict": "failure"}


def test_junit_fails_what_broke_the_night_and_passes_nothing_that_was_not_decided() -> None:
    assert cases(factory.bleeding(), "cells")["candidate/nvfp4/c16/closed-loop"] == "failure"
    assert cases(factory.drifting(), "drift") == {"candidate, anchors": "failure"}
    short = factory.interrupted()
    assert set(cases(short, "cells").values()) == {"error", "skipped"}
    assert cases(short, "verdict") == {"verdict": "error"}
    clean = factory.clean()
    assert cases(clean, "boots") == {"boot 1": "skipped"}
    assert set(cases(clean, "cells").values()) == {"passed", "skipped"}
    assert cases(clean.model_copy(update={"drifts": ()}), "drift") == {"drift": "skipped"}


@pytest.mark.parametrize("width", [60, 80, 140])
def test_the_terminal_is_never_overrun(width: int) -> None:
    for night in factory.everything():
        text = printed(night, width, factory.trend())
        assert text.startswith(night.verdict.upper())
        assert max(map(len, text.splitlines())) <= max(width, 80)


def test_the_terminal_shows_colour_only_where_it_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    out = Terminal()
    render_night(factory.bad_boot(), open_screen(out, 80))
    assert "\x1b[1;31mFAIL" in out.getvalue()
    monkeypatch.setenv("NO_COLOR", "1")
    plain = Terminal()
    render_night(factory.bad_boot(), open_screen(plain, 80))
    assert not re.search(r"\x1b\[[0-9;]*3\dm", plain.getvalue())


def test_the_shipped_schema_is_the_generated_one_and_every_night_fits_it() -> None:
    assert shipped("night") == schema_text("night")
    Draft202012Validator.check_schema(schema("night"))
    for night in factory.everything():
        Draft202012Validator(schema("night")).validate(json.loads(night.model_dump_json()))
