"""Are the two ends alike enough, and unlike enough, to be compared? Here by what they say of themselves."""

from __future__ import annotations

from collections.abc import Iterator

from fuzzer.summary import Check
from fuzzer.wire.bounds import quoted
from fuzzer.wire.identify import Identity


def compare(candidate: Identity, reference: Identity | None) -> list[Check]:
    """All that speaks against this pair, the blocking first; without a reference only the candidate is looked at."""
    checks = list(_alone(candidate) if reference is None else _pair(candidate, reference))
    return sorted(checks, key=lambda check: check.severity != "blocking")


def _alone(candidate: Identity) -> Iterator[Check]:
    if candidate.speculation is False:
        yield Check(
            code="no-speculation",
            severity="blocking",
            message=f"{candidate.name} ({candidate.url}) says that it serves without speculation: nothing to test",
            change="start it with its drafter, or name the server that has one with --candidate",
        )


def _pair(candidate: Identity, reference: Identity) -> Iterator[Check]:
    if base(candidate.url) == base(reference.url) and candidate.model == reference.model:
        yield Check(
            code="same-endpoint",
            severity="blocking",
            message=f"{candidate.name} and {reference.name} are the same server ({candidate.url})",
            change="give --reference the address of a server without speculation",
        )
        return
    if candidate.speculation is False and reference.speculation is True:
        yield Check(
            code="swapped",
            severity="blocking",
            message=f"{candidate.name} ({candidate.url}) serves without speculation and {reference.name} "
            f"({reference.url}) with it",
            change="the two are swapped: exchange --candidate and --reference",
        )
    else:
        yield from _alone(candidate)
        yield from _speculating(reference)
    yield from _models(candidate, reference)
    yield from _differences(candidate, reference)


def _speculating(reference: Identity) -> Iterator[Check]:
    if reference.speculation is True:
        yield Check(
            code="reference-speculates",
            severity="blocking",
            message=f"{reference.name} ({reference.url}) serves with speculation: a reference must not",
            change="start it without a drafter",
        )


def _models(candidate: Identity, reference: Identity) -> Iterator[Check]:
    if _stem(candidate.model) == _stem(reference.model):
        return
    chosen = candidate.model_given and reference.model_given
    yield Check(
        code="different-model",
        severity="warning" if chosen else "blocking",
        message=f"different models: {candidate.name} serves {quoted(candidate.model)}, "
        f"{reference.name} {quoted(reference.model)}",
        change="both were named, so they are taken as the same"
        if chosen
        else "if they are the same model, name both: --model and --reference-model",
    )


def _differences(candidate: Identity, reference: Identity) -> Iterator[Check]:
    if candidate.context_length and reference.context_length and candidate.context_length != reference.context_length:
        yield Check(
            code="context-length",
            severity="warning",
            message=f"different context lengths: {candidate.name} has {candidate.context_length} tokens, "
            f"{reference.name} {reference.context_length}",
            change="long prompts and answers may be cut on one side only: start both with the same limit",
        )
    if candidate.engine != reference.engine:
        yield Check(
            code="different-engine",
            severity="warning",
            message=f"different engines: {candidate.name} runs {candidate.engine}, {reference.name} {reference.engine}",
            change="what differs may be the engines' doing; compare with the same engine where you can",
        )
    elif candidate.fingerprint and reference.fingerprint and candidate.fingerprint != reference.fingerprint:
        yield Check(
            code="different-version",
            severity="warning",
            message=f"different versions: {candidate.name} has {quoted(candidate.fingerprint)}, "
            f"{reference.name} {quoted(reference.fingerprint)}",
            change="what differs may be the versions' doing",
        )


def base(url: str) -> str:
    """An address without what does not tell two servers apart."""
    if url.startswith("unix:"):
        return url
    plain = url.rstrip("/").removesuffix("/v1").lower()
    return plain.replace("//localhost", "//127.0.0.1")


def _stem(model: str) -> str:
    return model.replace("\\", "/").rstrip("/").rpartition("/")[2].lower()
