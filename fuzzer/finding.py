"""What an oracle says: a finding is a value with a kind, a certainty, evidence and a dedupe key."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from fuzzer.errors import HistoryError
from fuzzer.history.records import Arm, Channel, Phase

Kind = Literal[
    "bleed",
    "wrong-answer",
    "divergence",
    "self-consistency",
    "corruption",
    "service",
    "speculation-health",
    "independence",
]
Control = Literal["alone", "other-order", "reference", "reference-itself"]
Certainty = Literal["certain", "likely", "possible"]
CERTAINTIES: Final[tuple[Certainty, ...]] = get_args(Certainty)
"""All of them, the surest first."""

When = Literal["concurrent", "stale", "unconditioned", "ambiguous"]


class Donor(BaseModel):
    """Whose content bled: the prompt, the exchange where only one can be meant, the channel and the matched span."""

    model_config = ConfigDict(frozen=True)

    prompt: str | None
    exchange: str | None = None
    channel: Channel | Literal["answer", "items", "cohort"]
    span: str
    when: When


class Finding(BaseModel):
    """Something wrong with one exchange (or, for speculation health, with one cell).

    ``key`` groups findings of one cause in reports and names them in waivers: ``kind/sub-kind[/detail]@endpoint``.
    ``evidence`` is JSON for machines, ``summary`` one line of plain text for people (server text in it is repr'd).
    ``also`` names the controls that show the same kind of fault on the same prompt, ``spared`` those that ran and do
    not: ``alone`` (this endpoint, one at a time), ``other-order`` (this endpoint at N, in another pass), ``reference``
    (at the same place among the same neighbours), ``reference-itself`` (its own passes differ from each other).
    """

    model_config = ConfigDict(frozen=True)

    key: str
    kind: Kind
    sub_kind: str
    certainty: Certainty
    arm: Arm
    endpoint: str
    cell: str
    phase: Phase | None
    exchange: str | None
    prompt: str | None
    summary: str
    evidence: dict[str, JsonValue] = Field(default_factory=dict)
    donor: Donor | None = None
    also: tuple[Control, ...] = ()
    spared: tuple[Control, ...] = ()


def dedupe_key(kind: Kind, sub_kind: str, endpoint: str, detail: str = "") -> str:
    """The key that findings of one cause share, for instance ``bleed/concurrent/user@candidate``."""
    return f"{kind}/{sub_kind}{'/' + detail if detail else ''}@{endpoint}"


def unbundled(finding: Finding) -> str:
    """Why no request can be sent again to show a finding, for people; "" where one can.

    What only counters tell concerns no exchange. A neighbour that was sampled, penalised or broken off cannot be judged
    by itself: what it shows takes the others of its kind beside it, at both ends.
    """
    if finding.exchange is None:
        return "no bundle: counts of the whole cell show it, no single exchange does"
    if finding.phase == "neighbour":
        return "no bundle: it shows in a neighbour's request (not greedy, or broken off), which is not judged by itself"
    return ""


def read_findings(path: Path) -> Iterator[Finding]:
    """The findings of a file, a line each; HistoryError where they cannot be read."""
    try:
        with path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                try:
                    yield Finding.model_validate_json(line)
                except ValidationError as error:
                    raise HistoryError(
                        f"{path}, line {number}: not a finding; judge the run again: specfuzz judge DIR"
                    ) from error
    except OSError as error:
        raise HistoryError(f"{path}: cannot read the findings: {error.strerror}") from error
