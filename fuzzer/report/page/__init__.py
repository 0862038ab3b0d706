"""``report.html``: one page for the release manager's minute and the engineer's afternoon."""

from fuzzer.report.page.render import html

__all__ = ["html"]
