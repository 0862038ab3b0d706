"""What the build of the site does besides.

A link out of ``docs`` to a file of the repository takes that file along. So it works where the page is read in the
repository and on the site, and a link to a file that is not there fails the build. A folder cannot be taken along: its
link becomes plain words. A page that ``mkdocs.yml`` does not list stands at the end of the how-to pages.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
TAKEN = "files"  # where on the site such files are
HOW_TO = "How to"
_OUT = re.compile(r"\[([^\[\]]*)\]\(((?:\.\./)+[^)#\s]+)\)")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """The configuration with no page left out of the navigation."""
    nav: list[dict[str, Any]] = config.nav or []
    folder = Path(config.docs_dir)
    pages = {path.relative_to(folder).as_posix() for path in folder.rglob("*.md")}
    for section in nav:
        if isinstance(section, dict) and HOW_TO in section:
            section[HOW_TO] += sorted(pages - set(_listed(nav)))
    return config


def _listed(entry: Any) -> Iterator[str]:
    """The pages that a navigation holds."""
    if isinstance(entry, str):
        yield entry
    for each in entry.values() if isinstance(entry, dict) else entry if isinstance(entry, list) else ():
        yield from _listed(each)


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """The page with its links out of ``docs`` pointed to copies on the site."""
    folder = posixpath.dirname(page.file.src_uri)

    def taken(link: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join("docs", folder, link[2]))
        if target.startswith(("docs/", "..")) or not (ROOT / target).exists():
            return link[0]  # the build itself judges these
        if (ROOT / target).is_dir():
            return f"{link[1]} (`{target}`)"
        uri = f"{TAKEN}/{target}{'.txt' if target.endswith('.md') else ''}"  # Markdown is no page of the site
        if files.get_file_from_path(uri) is None:
            files.append(File.generated(config, uri, abs_src_path=str(ROOT / target)))
        return f"[{link[1]}]({posixpath.relpath(uri, folder or '.')})"

    return _OUT.sub(taken, markdown)
