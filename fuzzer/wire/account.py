"""What a reply says it cost: tokens, cache hits, drafts."""

from __future__ import annotations

from pydantic import JsonValue

from fuzzer.history.records import Draft, Usage
from fuzzer.wire.tokens import count


class Account:
    """Collects usage and drafting from wherever an engine puts them; the last word of each kind counts."""

    def __init__(self) -> None:
        self._usage: Usage | None = None
        self._timings: dict[str, JsonValue] | None = None
        self._speculative: dict[str, JsonValue] | None = None

    def take(self, reply: dict[str, JsonValue]) -> bool:
        """Looks through one chunk or body; false if its usage is malformed."""
        timings = reply.get("timings")  # llama.cpp
        if isinstance(timings, dict):
            self._timings = timings
        metrics = reply.get("metrics")  # vLLM with --per-request-spec-decode-metrics
        speculative = metrics.get("speculative_decoding") if isinstance(metrics, dict) else None
        if isinstance(speculative, dict):
            self._speculative = speculative
        usage = reply.get("usage")
        return usage is None or self._take_usage(usage)

    def _take_usage(self, usage: JsonValue) -> bool:
        if not isinstance(usage, dict):
            return False
        details = usage.get("prompt_tokens_details")
        given = {
            "prompt_tokens": usage.get("prompt_tokens"),
            "completion_tokens": usage.get("completion_tokens"),
            "cached_tokens": details.get("cached_tokens") if isinstance(details, dict) else None,
            "total_tokens": usage.get("total_tokens"),
        }
        counts = {name: count(value) for name, value in given.items()}
        self._usage = Usage(**counts)
        return all(counts[name] is not None or given[name] is None for name in given)

    def usage(self) -> Usage | None:
        """Token counts from ``usage``; what is missing there from llama.cpp's timings."""
        if self._timings is None:
            return self._usage
        read, cached = count(self._timings.get("prompt_n")), count(self._timings.get("cache_n"))
        if self._usage is not None:
            known = self._usage.cached_tokens
            return self._usage.model_copy(update={"cached_tokens": cached if known is None else known})
        return Usage(
            prompt_tokens=None if read is None else read + (cached or 0),
            completion_tokens=count(self._timings.get("predicted_n")),
            cached_tokens=cached,
        )

    def draft(self) -> Draft | None:
        """Drafting in this exchange; None where the reply says nothing about it."""
        if self._speculative is not None:
            drafted = count(self._speculative.get("num_draft_tokens"))
            accepted = count(self._speculative.get("num_accepted_draft_tokens"))
            if drafted is not None and accepted is not None:
                return Draft(drafted=drafted, accepted=accepted, steps=count(self._speculative.get("num_spec_steps")))
        if self._timings is not None:
            # llama.cpp leaves these out when nothing was drafted.
            drafted, accepted = count(self._timings.get("draft_n", 0)), count(self._timings.get("draft_n_accepted", 0))
            if drafted is not None and accepted is not None:
                return Draft(drafted=drafted, accepted=accepted)
        return None
