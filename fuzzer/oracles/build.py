"""How oracles word what they found: quoted server text, endpoint labels, findings about one exchange."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import JsonValue

from fuzzer.finding import Certainty, Donor, Finding, Kind, dedupe_key
from fuzzer.history.records import Arm, Exchange

QUOTE_LIMIT = 80
EVIDENCE_LIMIT = 240


def quote(text: str, limit: int = QUOTE_LIMIT) -> str:
    """A server's text as it may stand in a line for people: escaped, quoted, at most ``limit`` characters in all."""
    quoted = repr(text[:limit])
    if len(text) <= limit and len(quoted) <= limit:
        return quoted
    return f"{quoted[: limit - 2]}…{quoted[0]}"


def excerpt(text: str, start: int = 0, limit: int = EVIDENCE_LIMIT) -> str:
    """Up to ``limit`` characters of a server's text from ``start``, safe to write as JSON (no lone surrogates)."""
    return text[start : start + limit].encode(errors="backslashreplace").decode()


def around(text: str, start: int, length: int, limit: int = EVIDENCE_LIMIT) -> str:
    """An excerpt with a span of the text in its middle."""
    before = max((limit - length) // 2, 0)
    return excerpt(text, max(start - before, 0), limit)


def label(arm: Arm, endpoint: str) -> str:
    """An endpoint's name in keys and messages; a reference that shares its candidate's name is ``reference:NAME``."""
    return endpoint if arm == "candidate" or endpoint == "reference" else f"reference:{endpoint}"


def finding(
    exchange: Exchange,
    kind: Kind,
    sub_kind: str,
    certainty: Certainty,
    summary: str,
    *,
    detail: str = "",
    evidence: Mapping[str, JsonValue] | None = None,
    donor: Donor | None = None,
) -> Finding:
    """A finding about one exchange; ``detail`` sets its dedupe key apart from others of the same sub-kind."""
    sent = exchange.sent
    return Finding(
        key=dedupe_key(kind, sub_kind, label(sent.arm, sent.endpoint), detail),
        kind=kind,
        sub_kind=sub_kind,
        certainty=certainty,
        arm=sent.arm,
        endpoint=sent.endpoint,
        cell=sent.cell,
        phase=sent.phase,
        exchange=sent.key,
        prompt=sent.prompt,
        summary=summary,
        evidence=dict(evidence or {}),
        donor=donor,
    )
