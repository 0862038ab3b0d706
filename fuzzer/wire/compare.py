"""Are the two ends alike enough, and unlike enough, to be compared?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import BaseModel, ConfigDict

from fuzzer.wire.bounds import quoted
from fuzzer.wire.identify import Identity


class Problem(BaseModel):
    """Something about the pair of endpoints; a blocking one makes the run inconclusive before it starts.

    Codes: "different-model", "reference-speculates", "no-speculation", "context-length", "different-engine",
    "different-version".
    """

    model_config = ConfigDict(frozen=True)

    code: str
    severity: Literal["blocking", "warning"]
    message: str


def compare(candidate: Identity, reference: Identity | None) -> list[Problem]:
    """All problems of this pair, the blocking ones first; without a reference only the candidate is looked at."""
    problems = list(_alone(candidate))
    if reference is not None:
        problems.extend(_pair(candidate, reference))
    return sorted(problems, key=lambda problem: problem.severity != "blocking")


def _alone(candidate: Identity) -> Iterator[Problem]:
    if candidate.speculation is False:
        yield Problem(
            code="no-speculation",
            severity="blocking",
            message=f"{candidate.name} ({candidate.url}) says that it serves without speculation: nothing to test",
        )


def _pair(candidate: Identity, reference: Identity) -> Iterator[Problem]:
    if reference.speculation is True:
        yield Problem(
            code="reference-speculates",
            severity="blocking",
            message=f"{reference.name} ({reference.url}) serves with speculation: a reference must not",
        )
    if _stem(candidate.model) != _stem(reference.model):
        chosen = candidate.model_given and reference.model_given
        yield Problem(
            code="different-model",
            severity="warning" if chosen else "blocking",
            message=f"different models: {candidate.name} serves {quoted(candidate.model)}, "
            f"{reference.name} {quoted(reference.model)}; "
            + ("both were named, so they are taken as the same" if chosen else "name both if they are the same model"),
        )
    for code, what, ours, theirs in (
        ("context-length", "context lengths", candidate.context_length, reference.context_length),
        ("different-engine", "engines", candidate.engine, reference.engine),
        ("different-version", "versions", candidate.fingerprint, reference.fingerprint),
    ):
        if code == "different-version" and candidate.engine != reference.engine:
            continue
        if ours is not None and theirs is not None and ours != theirs:
            yield Problem(
                code=code,
                severity="warning",
                message=f"different {what}: {candidate.name} has {quoted(ours)}, {reference.name} {quoted(theirs)}",
            )


def _stem(model: str) -> str:
    return model.replace("\\", "/").rstrip("/").rpartition("/")[2].lower()
