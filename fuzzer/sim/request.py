"""Chat requests as they come over the wire, checked the way vLLM checks them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from fuzzer.sim.config import SimConfig
from fuzzer.sim.sampling import WARM, Sampling
from fuzzer.sim.wants import FUNCTIONS, WantError, rendered, with_calls

MAX_SALT = 128  # characters; as vLLM has it
MAX_TOP_LOGPROBS = 20
MAX_CHOICES = 64
_ROLES = frozenset({"system", "developer", "user", "assistant", "tool"})


class BadRequestError(Exception):
    """A request that is answered with an error object; ``status`` is the HTTP status."""

    def __init__(
        self, message: str, status: int = 400, kind: str = "BadRequestError", param: str | None = None
    ) -> None:
        super().__init__(message)
        self.status, self.kind, self.param = status, kind, param

    def body(self) -> bytes:
        """The error object."""
        error = {"message": str(self), "type": self.kind, "param": self.param, "code": self.status}
        return json.dumps({"error": error}).encode()


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """What matters of a request; unknown fields are accepted silently, as vLLM does.

    ``messages`` begin with what stands beside the chat (see ``wants``). ``calls``: functions may be called.
    """

    messages: tuple[tuple[str, str], ...]
    max_tokens: int | None = None
    stream: bool = False
    include_usage: bool = False
    sampling: Sampling = WARM
    seed: int | None = None
    n: int = 1
    stop: tuple[str, ...] = ()
    logprobs: bool = False
    top_logprobs: int = 0
    return_token_ids: bool = False
    cache_salt: str = ""
    ignore_eos: bool = False
    calls: bool = False


def parse_chat(body: bytes, config: SimConfig) -> ChatRequest:
    """Read and check a request body; BadRequestError says what is wrong with it."""
    try:
        fields = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise BadRequestError(f"JSON decode error: {error}") from error
    if not isinstance(fields, dict):
        raise BadRequestError("Input should be a valid dictionary")
    if fields.get("model") not in (None, "", config.model):
        raise BadRequestError(f"The model `{fields['model']}` does not exist.", 404, "NotFoundError", "model")
    _check_ranges(fields)
    stream = _typed(fields, "stream", bool, False)
    options = _typed(fields, "stream_options", dict, {})
    if options and not stream:
        raise BadRequestError("Stream options can only be defined when `stream=True`.", param="stream_options")
    fields = _heeded(fields, config)
    messages = _prompt(fields, config.template)
    return ChatRequest(
        messages=messages,
        max_tokens=_integer(fields, "max_completion_tokens", 1) or _integer(fields, "max_tokens", 1),
        stream=stream,
        include_usage=bool(options.get("include_usage")),
        sampling=_sampling(fields),
        n=_integer(fields, "n", 1, MAX_CHOICES) or 1,
        seed=_integer(fields, "seed", -(2**63), 2**63 - 1),
        stop=_stop(fields.get("stop")),
        logprobs=_typed(fields, "logprobs", bool, False),
        top_logprobs=_integer(fields, "top_logprobs", 0, MAX_TOP_LOGPROBS) or 0,
        return_token_ids=_typed(fields, "return_token_ids", bool, False),
        cache_salt=_salt(fields),
        ignore_eos=_typed(fields, "ignore_eos", bool, False),
        calls=messages[0][0] == FUNCTIONS,
    )


def _heeded(fields: dict[str, Any], config: SimConfig) -> dict[str, Any]:
    """The fields that this server heeds, with its own defaults where they are not given."""
    given = {name: value for name, value in fields.items() if value is not None and name not in config.ignores}
    if "max_tokens" in config.ignores:
        given.pop("max_completion_tokens", None)
    return {**config.defaults, **given}


def _prompt(fields: dict[str, Any], template: str) -> tuple[tuple[str, str], ...]:
    head = (("system", template),) if template else ()
    try:
        return (*rendered(fields), *head, *_messages(fields.get("messages")))
    except WantError as error:
        raise BadRequestError(str(error), param=error.param) from error


def _check_ranges(fields: dict[str, Any]) -> None:
    temperature, top_p = _number(fields, "temperature", 1.0), _number(fields, "top_p", 1.0)
    if temperature < 0:
        raise BadRequestError(f"temperature must be non-negative, got {temperature}.", param="temperature")
    if not 0 < top_p <= 1:
        raise BadRequestError(f"top_p must be in (0, 1], got {top_p}.", param="top_p")
    for name in ("presence_penalty", "frequency_penalty"):
        if not -2 <= (penalty := _number(fields, name, 0.0)) <= 2:
            raise BadRequestError(f"{name} must be in [-2, 2], got {penalty}.", param=name)
    if not 0 < (penalty := _number(fields, "repetition_penalty", 1.0)) <= 10:
        raise BadRequestError(f"repetition_penalty must be in (0, 10], got {penalty}.", param="repetition_penalty")
    if fields.get("top_logprobs") and not fields.get("logprobs"):
        raise BadRequestError("when using `top_logprobs`, `logprobs` must be set to true.", param="top_logprobs")


def _sampling(fields: dict[str, Any]) -> Sampling:
    return Sampling(
        temperature=_number(fields, "temperature", 1.0),
        presence=_number(fields, "presence_penalty", 0.0),
        frequency=_number(fields, "frequency_penalty", 0.0),
        repetition=_number(fields, "repetition_penalty", 1.0),
        bias=_bias(_typed(fields, "logit_bias", dict, {})),
    )


def _bias(value: dict[str, Any]) -> tuple[tuple[int, float], ...]:
    """Biases by token id; beyond 100 either way they are clipped, as everywhere."""
    pairs = []
    for token, bias in value.items():
        if not token.isdecimal() or isinstance(bias, bool) or not isinstance(bias, int | float):
            raise BadRequestError(f"logit_bias: {token!r}: {bias!r} is no token id with a bias", param="logit_bias")
        pairs.append((int(token), max(-100.0, min(100.0, float(bias)))))
    return tuple(pairs)


def _messages(value: object) -> tuple[tuple[str, str], ...]:
    if not isinstance(value, list) or not value:
        raise BadRequestError("messages: Input should be a list of at least one message", param="messages")
    return tuple(_message(message, place) for place, message in enumerate(value))


def _message(message: object, place: int) -> tuple[str, str]:
    if not isinstance(message, dict) or message.get("role") not in _ROLES:
        raise BadRequestError(f"messages.{place}.role: Input should be one of {sorted(_ROLES)}", param="messages")
    role, content = message["role"], message.get("content")
    if isinstance(content, list):
        parts = [part["text"] for part in content if isinstance(part, dict) and isinstance(part.get("text"), str)]
        if len(parts) == len(content):
            return role, "\n".join(parts)
    elif isinstance(content, str) or (content is None and role == "assistant"):
        return role, with_calls(content or "", message) if role == "assistant" else content or ""
    raise BadRequestError(f"messages.{place}.content: Input should be a valid string", param="messages")


def _stop(value: object) -> tuple[str, ...]:
    stops = [value] if isinstance(value, str) else value or []
    if not isinstance(stops, list) or not all(isinstance(stop, str) for stop in stops):
        raise BadRequestError("stop: Input should be a string or a list of strings", param="stop")
    if "" in stops:
        raise BadRequestError("stop cannot contain an empty string.", param="stop")
    return tuple(stops)


def _typed(fields: dict[str, Any], name: str, kind: type, default: Any) -> Any:
    value = fields.get(name)
    if value is None:
        return default
    if not isinstance(value, kind):
        raise BadRequestError(f"{name}: Input should be a valid {kind.__name__}", param=name)
    return value


def _salt(fields: dict[str, Any]) -> str:
    salt: str = _typed(fields, "cache_salt", str, "")
    if len(salt) > MAX_SALT or set(salt) & set("@/\\\0"):
        raise BadRequestError(
            f"Parameter 'cache_salt' must be at most {MAX_SALT} characters, without '@', '/', '\\' or NUL.",
            param="cache_salt",
        )
    return salt


def _number(fields: dict[str, Any], name: str, default: float) -> float:
    value = fields.get(name)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadRequestError(f"{name}: Input should be a valid number", param=name)
    return float(value)


def _integer(fields: dict[str, Any], name: str, low: int, high: int = 2**31) -> int | None:
    value = fields.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int):
        raise BadRequestError(f"{name}: Input should be a valid integer", param=name)
    if not low <= value <= high:
        raise BadRequestError(f"{name} must be between {low} and {high}, got {value}.", param=name)
    return value
