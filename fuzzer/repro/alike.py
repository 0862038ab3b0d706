"""Whether two findings are of the same kind: what a replay must show again, and what a reduction must keep."""

from __future__ import annotations

from typing import get_args

from fuzzer.finding import Finding
from fuzzer.history.records import Outcome

_NO_ANSWER = ("runaway", "empty", "refusal", "no-answer", "missing-call")
_FAILURES: frozenset[str] = frozenset(get_args(Outcome)) - {"ok", "cancelled"}


def kind_of(finding: Finding) -> str:
    """The kind, as coarse as it may be: ``wrong-answer``, ``wrong-answer/empty``, ``service/hang``.

    Bleed is bleed whether the donor was in flight or finished earlier, an answer is wrong whatever it says instead, and
    a request fails in service by an error or by a broken connection. What is no answer at all, a hang and each protocol
    fault are kinds of their own, and so is every contradiction of a reply with itself.
    """
    if finding.kind == "wrong-answer" and finding.sub_kind in _NO_ANSWER:
        return f"{finding.kind}/{finding.sub_kind}"
    if finding.kind == "service":
        return f"{finding.kind}/{'failed' if finding.sub_kind in _FAILURES else finding.sub_kind}"
    if finding.kind == "self-consistency":
        return f"{finding.kind}/{finding.sub_kind}"
    return finding.kind


def same_kind(known: Finding, found: Finding) -> bool:
    """Whether ``found`` is what ``known`` was: the same kind, and no mere possibility where that was more."""
    weaker = found.certainty == "possible" and known.certainty != "possible"
    return kind_of(known) == kind_of(found) and not weaker
