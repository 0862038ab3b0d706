"""The page in a real browser: it opens from a file, loads nothing, works by key and mouse, and can be read by all."""

from __future__ import annotations

import csv
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect, sync_playwright

from fuzzer.manifest import new_manifest, write_manifest
from fuzzer.report.night import write_night
from fuzzer.report.page import html
from fuzzer.report.page.compared import write_comparison

from . import factory
from .night import factory as nights
from .test_compared import BOTH
from .test_page import run

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium here: install Debian's package chromium"),
    pytest.mark.xdist_group("browser"),
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        yield playwright.chromium.launch(executable_path=CHROMIUM, args=list(QUIET))


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    summary = run(folder, said="the other answer <script>alert(1)</script>")
    write_manifest(folder, new_manifest(factory.plan(), "r"))
    both = (*summary.findings, *factory.failing().findings)
    path = folder / "report.html"
    path.write_text(html(summary.model_copy(update={"findings": both}), folder), encoding="utf-8", errors="replace")
    return path


class Opened:
    """The page as opened, with all that the browser asked for and complained of."""

    def __init__(self, browser: Browser, file: Path, width: int, scheme: str) -> None:
        dark = scheme == "dark"
        self.context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme="dark" if dark else "light", accept_downloads=True
        )
        self.page: Page = self.context.new_page()
        self.said: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("dialog", lambda dialog: self.said.append(dialog.message))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(file.as_uri())


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_opens_alone_fits_the_screen_and_can_be_read_by_all(
    browser: Browser, file: Path, width: int, scheme: str
) -> None:
    opened = Opened(browser, file, width, scheme)
    opened.page.click("#unfold")
    assert opened.asked == [file.as_uri()]
    assert opened.said == []
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= width
    assert opened.page.evaluate("document.documentElement.dataset.theme") == scheme
    found = Axe().run(opened.page).response["violations"]
    assert [(one["id"], one["impact"]) for one in found if one["impact"] in ("serious", "critical")] == []
    opened.context.close()


def test_the_comparison_of_two_runs_opens_alone_and_can_be_read_by_all(browser: Browser, tmp_path: Path) -> None:
    write_comparison(tmp_path / "compare.html", BOTH)
    opened = Opened(browser, tmp_path / "compare.html", 390, "dark")
    assert (opened.said, opened.asked) == ([], [(tmp_path / "compare.html").as_uri()])
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= 390
    found = Axe().run(opened.page).response["violations"]
    assert [one["id"] for one in found if one["impact"] in ("serious", "critical")] == []
    opened.page.click("#theme")
    assert opened.page.evaluate("document.documentElement.dataset.theme") == "light"
    opened.context.close()


def test_the_report_of_a_night_opens_alone_and_can_be_read_by_all(browser: Browser, tmp_path: Path) -> None:
    night = nights.interrupted()
    write_night(tmp_path, night, nights.trend())
    opened = Opened(browser, tmp_path / "night.html", 390, "dark")
    page = opened.page
    page.click("#unfold")
    assert (opened.said, opened.asked) == ([], [(tmp_path / "night.html").as_uri()])
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    found = Axe().run(page).response["violations"]
    assert [one["id"] for one in found if one["impact"] in ("serious", "critical")] == []
    page.fill("input[data-filter=legs]", "anchor")
    anchors = sum(leg.purpose == "anchor" for leg in night.legs)
    assert 0 < page.locator("#t-legs tbody tr:visible").count() == anchors < len(night.legs)
    with page.expect_download() as wait:
        page.click("button[data-csv=cells]")
    wait.value.save_as(tmp_path / "cells.csv")
    rows = list(csv.DictReader((tmp_path / "cells.csv").read_text(encoding="utf-8").splitlines()))
    assert sorted(int(row["judged"]) for row in rows) == sorted(cell.n for cell in night.cells)
    opened.context.close()


def test_tables_sort_filter_and_download(browser: Browser, file: Path, tmp_path: Path) -> None:
    opened = Opened(browser, file, 1280, "light")
    page = opened.page
    levels = "#t-decision tbody tr:visible td:first-child"
    head = page.locator("#t-decision thead th button").first
    head.focus()
    page.keyboard.press("Enter")
    up = page.locator(levels).all_text_contents()
    page.keyboard.press("Enter")
    assert page.locator(levels).all_text_contents() == up[::-1]
    assert up == sorted(up, key=int)
    assert page.locator("#t-decision thead th").first.get_attribute("aria-sort") == "descending"
    page.fill("input[data-filter=decision]", "no such thing")
    assert page.locator("#t-decision tbody tr:visible").count() == 0
    assert page.locator("p.empty:visible").text_content() == "No row matches the filter."
    page.fill("input[data-filter=decision]", "8")
    assert set(page.locator(levels).all_text_contents()) == {"8"}
    shown = page.locator("#t-decision tbody tr:visible").count()
    total = page.locator("#t-decision tbody tr").count()
    assert 0 < shown < total
    assert page.locator("output[data-count=decision]").text_content() == f"{shown} of {total} rows"
    with page.expect_download() as wait:
        page.click("button[data-csv=decision]")
    wait.value.save_as(tmp_path / "table.csv")
    rows = list(csv.reader((tmp_path / "table.csv").read_text(encoding="utf-8").splitlines()))
    assert len(rows) == 1 + shown
    told = next(dict(zip(rows[0], row, strict=True)) for row in rows[1:] if "closed-loop" in row)
    assert (told["concurrency"], told["lm_head"], told["status"]) == ("8", "nvfp4", "fail")
    assert (told["failed"], told["judged"], told["speed_up"], told["bound"]) == ("9", "48", "", "")
    opened.context.close()


def test_findings_fold_filter_copy_and_the_theme_switches(browser: Browser, file: Path) -> None:
    opened = Opened(browser, file, 1280, "light")
    page = opened.page
    findings = page.locator("details.finding")
    assert findings.first.get_attribute("open") is not None
    page.click("#unfold")
    assert page.locator("details.finding:not([open])").count() == 0
    page.fill("#find", "bleed/concurrent/answer")
    assert 0 < page.locator("details.finding:visible").count() < findings.count()
    assert page.locator("#found").text_content() == f"1 of {findings.count()} findings"
    page.fill("#find", "no such thing")
    assert page.locator("#nothing-found").is_visible()
    page.fill("#find", "")
    page.locator("button[data-copy]").first.click()
    page.wait_for_function("['copied', 'selected'].includes(document.querySelector('button[data-copy]').textContent)")
    assert page.locator("figure.timeline rect").count() >= 2
    assert page.locator("figure.timeline g.victim").count() == page.locator("figure.timeline g.donor").count() == 1
    page.click("#unfold")
    page.click(".minute dd a")
    page.wait_for_selector("#first-failure:visible")
    with page.expect_download() as wait:
        page.click("button[data-csv=heat]")
    assert wait.value.suggested_filename == "specfuzz-heat.csv"
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = false)")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details:not([open])").count() == 0
    expect(page.locator("button[data-copy]").first).to_have_text("copy")
    page.click("#theme")
    page.reload()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert page.locator("#theme").text_content() == "theme: dark"
    assert opened.said == []
    opened.context.close()
