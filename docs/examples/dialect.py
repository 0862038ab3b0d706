"""An engine that speaks the OpenAI chat interface with a few words of its own. It is made up."""

from __future__ import annotations

from pydantic import JsonValue

from fuzzer.wire.dialects import OPENAI, CounterNames, Dialect
from fuzzer.wire.params import Params


def _extras(params: Params) -> dict[str, JsonValue]:
    """What it takes to keep the prefix cache cold, and to get token ids."""
    return {"use_prefix_cache": params.cache == "warm", "return_token_ids": True}


ACME = Dialect(
    engine="openai",  # in the project: a name of its own, which then stands in fuzzer.plan.Engine
    neutral={**OPENAI.neutral, "top_k": 0, "min_p": 0, "repetition_penalty": 1},  # how it spells "off", and why
    extras=_extras,
    counters=CounterNames(
        drafts="acme_verify_steps_total",
        draft_tokens="acme_draft_tokens_total",
        accepted_tokens="acme_accepted_tokens_total",
        running="acme_running",
    ),
    metrics="/metrics",
)
