"""The site builds strictly, without network, and what it builds asks for nothing from elsewhere."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from fuzzer.report.schema import schema

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.xdist_group("site")  # one build serves them all
_ASKED = re.compile(r"<(?:script|img|iframe|source|link)\b[^>]*\b(?:src|href)=[\"']?((?:https?:)?//[^\"' >]+)")


def build(config: Path, site: Path) -> subprocess.CompletedProcess[str]:
    """Build as CI does; a proxy that nobody listens at stands for a network that is not there."""
    nowhere = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--config-file", str(config), "--site-dir", str(site)],
        capture_output=True,
        text=True,
        env={**os.environ, **nowhere, "NO_MKDOCS_2_WARNING": "1"},
        check=False,
        timeout=300,
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = build(ROOT / "mkdocs.yml", folder)
    assert done.returncode == 0, done.stderr
    return folder


def test_every_page_is_built(site: Path) -> None:
    pages = {str(path.relative_to(ROOT / "docs").with_suffix(".html")) for path in (ROOT / "docs").rglob("*.md")}
    assert pages <= {str(path.relative_to(site)) for path in site.rglob("*.html")}
    assert not list(site.glob("*.py"))


def test_every_page_is_in_the_navigation(site: Path) -> None:
    home = (site / "index.html").read_text(encoding="utf-8")
    pages = [path.relative_to(ROOT / "docs").with_suffix(".html") for path in (ROOT / "docs").rglob("*.md")]
    links = set(re.findall(r'<a href="([^"]+)" class="md-nav__link', home))
    assert {str(page) for page in pages if page.name != "index.html"} <= links


def test_a_page_asks_nothing_from_elsewhere(site: Path) -> None:
    asked = {url for page in site.rglob("*.html") for url in _ASKED.findall(page.read_text(encoding="utf-8"))}
    assert asked == set()
    styles = "".join(path.read_text(encoding="utf-8") for path in site.rglob("*.css"))
    assert styles
    assert not re.search(r"(?:@import|url\()\s*[\"']?(?:https?:)?//", styles)


@pytest.mark.parametrize("name", ["summary", "night"])
def test_a_schema_is_published_and_linked_from_its_page(site: Path, name: str) -> None:
    file = f"files/fuzzer/report/{name}.schema.json"
    assert json.loads((site / file).read_text(encoding="utf-8")) == schema(name)
    assert file in (site / "reference" / f"{name}.html").read_text(encoding="utf-8")


def test_links_that_lead_nowhere_fail_the_build(tmp_path: Path) -> None:
    pages = tmp_path / "docs"
    pages.mkdir()
    links = ("[a page](gone.md)", "[a part](index.md#gone)", "[a file](../gone.txt)", "[a file](../README.md)")
    (pages / "index.md").write_text("# Title\n\n" + "\n\n".join(links) + "\n", encoding="utf-8")
    config = tmp_path / "mkdocs.yml"
    config.write_text(
        f"INHERIT: {ROOT / 'mkdocs.yml'}\ndocs_dir: {pages}\nnav: [index.md]\nhooks: [{ROOT / 'docs' / 'hook.py'}]\n",
        encoding="utf-8",
    )
    done = build(config, tmp_path / "site")
    assert done.returncode != 0
    assert all(gone in done.stderr for gone in ("gone.md", "#gone", "gone.txt"))
    assert "README.md" not in done.stderr
