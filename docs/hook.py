"""What the build of the site does besides: a link out of ``docs`` to a file of the repository takes that file along.

So a link works where the page is read in the repository and on the site, and one to a file that is not there fails the
build. A folder cannot be taken along: its link becomes plain words.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
TAKEN = "files"  # where on the site such files are
_OUT = re.compile(r"\[([^\[\]]*)\]\(((?:\.\./)+[^)#\s]+)\)")


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
