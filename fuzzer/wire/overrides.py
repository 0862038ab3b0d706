"""What a schedule changes about a request's sampling, in each engine's own words; what an engine lacks is left out."""

from __future__ import annotations

from pydantic import JsonValue

from fuzzer.history.schedule import Overrides
from fuzzer.plan import Engine

# All but llama.cpp: the fields that ``dialects`` cites; llama.cpp: tools/server/README.md, "POST /completion".
_REPETITION: dict[Engine, str] = {
    "vllm": "repetition_penalty",
    "sglang": "repetition_penalty",
    "llamacpp": "repeat_penalty",
    "mlx": "repetition_penalty",
    "trtllm": "repetition_penalty",
    "lmdeploy": "repetition_penalty",
}
_IGNORES_EOS: tuple[Engine, ...] = ("vllm", "sglang", "llamacpp", "trtllm", "lmdeploy")
_PINS: tuple[Engine, ...] = ("llamacpp",)


def override(body: dict[str, JsonValue], overrides: Overrides, engine: Engine) -> None:
    """Change a request's body as the schedule says."""
    for name, value in (("temperature", overrides.temperature), ("seed", overrides.seed)):
        if value == "absent":
            body.pop(name, None)
        elif value is not None:
            body[name] = value
    given: dict[str, JsonValue] = {
        "presence_penalty": overrides.presence_penalty,
        "frequency_penalty": overrides.frequency_penalty,
        "logit_bias": dict(overrides.logit_bias) if overrides.logit_bias else None,
        "stop": list(overrides.stop) or None,
        "n": overrides.n if overrides.n > 1 else None,
    }
    if engine in _REPETITION:
        given[_REPETITION[engine]] = overrides.repetition_penalty
    if engine in _IGNORES_EOS:
        given["ignore_eos"] = overrides.ignore_eos or None
    if engine in _PINS:
        given["id_slot"] = overrides.slot
    body |= {name: value for name, value in given.items() if value is not None}
