"""What an alert is: one inert line for people, with what a machine needs to group and route it."""

from __future__ import annotations

from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, field_validator

from fuzzer.finding import Finding
from fuzzer.report.redact import redacted_finding
from fuzzer.report.text import clean

AlertKind = Literal["finding", "outage", "boot", "drift", "verdict", "disk"]
Severity = Literal["info", "warning", "critical"]

_TEXT: Final = 600  # characters of each text
_CELL: Final = 200  # of a cell's key


class Alert(BaseModel):
    """Something that somebody should hear of while the soak goes on.

    Alerts of one ``key`` say the same. ``title`` and ``text`` are made one harmless line each: control characters and
    what hides or turns text round are spelled out. ``leg`` is None where the alert concerns the whole night. ``more``
    counts the alerts that were merged into this one.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: AlertKind
    key: str
    title: str
    text: str
    night: str
    leg: int | None = None
    severity: Severity = "warning"
    finding: Finding | None = None
    more: int = 0

    @field_validator("key", "title", "text", "night")
    @classmethod
    def _inert(cls, value: str) -> str:
        return clean(value, _TEXT)

    @property
    def line(self) -> str:
        """All of it in one line, with the number of those that were merged into it."""
        said = f"{self.title}: {self.text}" if self.text else self.title
        return f"{said} (and {self.more:,} more)" if self.more else said


def finding_alert(finding: Finding, night: str, leg: int, *, redacted: bool = False) -> Alert:
    """The alert for a finding; ``redacted`` takes every word of a prompt or a reply out of it.

    A certain finding on the candidate is critical, any other a warning.
    """
    shown = redacted_finding(finding) if redacted else finding
    grave = shown.certainty == "certain" and shown.arm == "candidate"
    return Alert(
        kind="finding",
        key=shown.key,
        title=f"{shown.certainty} {shown.kind} on the {shown.arm}, {clean(shown.cell, _CELL)}",
        text=f"{shown.key}: {shown.summary}",
        night=night,
        leg=leg,
        severity="critical" if grave else "warning",
        finding=shown,
    )
