"""A chat taken apart: the question of the last message, and the marks that stand around it."""

from __future__ import annotations

import re
from dataclasses import dataclass

_MARK = re.compile(r"\b\d{4}-\d{4}-\d{6}\b")
_TICKET = re.compile(r"^Ticket: (\S+)$", re.MULTILINE)
_TAG = re.compile(r"Session tag: ([\d-]+)")
_CASE = re.compile(r"Case number: ([\d-]+)")
_ASIDE = re.compile(r"^Pay no attention to this: .*?(?=^Ticket: )", re.MULTILINE | re.DOTALL)
_CLOSING = re.compile(r"^Answer in three lines:.*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Chat:
    """``ask`` is the last question without its ticket and closing line; ``before`` is all text before that message.

    ``after`` is what came after it: the results of tools.
    """

    ask: str
    before: str
    after: str
    turns: tuple[tuple[str, str], ...]
    ticket: str
    tag: str
    case: str
    wants_lines: bool
    wants_case: bool
    marks: tuple[str, ...]

    @property
    def text(self) -> str:
        """All that was said, in order."""
        return f"{self.before}\n{self.ask}"


def read_chat(messages: tuple[tuple[str, str], ...]) -> Chat:
    """Take a chat apart."""
    last = max((place for place, (role, _) in enumerate(messages) if role == "user"), default=-1)
    message = messages[last][1] if last >= 0 else ""
    before = "\n".join(content for _, content in messages[: max(last, 0)])
    message = _ASIDE.sub("", message, count=1)
    closing = _CLOSING.search(message)
    ask = _CLOSING.sub("", _TICKET.sub("", message, count=1)).strip()
    first_user = next((content for role, content in messages if role == "user"), "")
    return Chat(
        ask=ask,
        before=before,
        after="\n".join(content for _, content in messages[last + 1 :]),
        turns=messages[: max(last, 0)],
        ticket=_group(_TICKET, message),
        tag=_group(_TAG, before),
        case=_group(_CASE, first_user),
        wants_lines=closing is not None,
        wants_case=closing is not None and "case number" in closing.group(),
        marks=tuple(dict.fromkeys(_MARK.findall(f"{before}\n{message}"))),
    )


def _group(pattern: re.Pattern[str], text: str) -> str:
    found = pattern.search(text)
    return found.group(1) if found else ""
