"""Ask an engine how likely it thinks a given continuation, prompt and template included.

Each engine has its own way:

- vLLM: ``/v1/completions`` on token ids with ``prompt_logprobs`` (vllm/entrypoints/openai/completion/protocol.py); the
  prompt's ids come from a chat reply (``return_token_ids``). Every place holds the given token and the best ones, with
  ranks; minus infinity is told as -9999. Such a request does not use the prefix cache. The form was measured on vLLM
  0.32; this code was tried on the simulated engine.
- SGLang: ``/generate`` on ``input_ids`` with ``return_logprob``, ``logprob_start_len`` and ``top_logprobs_num``, no new
  token (python/sglang/srt/managers/io_struct.py); ``meta_info.input_token_logprobs`` holds (log-probability, id, text).
  The prompt's ids come from a chat reply (``return_prompt_token_ids``). From its source; not tried.
- llama.cpp: no log-probabilities of a prompt, so one place at a time: ``/completion`` with ``n_predict`` 1 and
  ``n_probs`` (tools/server/README.md). The prompt is built by ``/apply-template`` and ``/tokenize``. A request a place:
  only for the places around a divergence.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import anyio
import httpx
from pydantic import JsonValue

from fuzzer.history.records import Arm, Message
from fuzzer.history.scores import Scores, TokenScore
from fuzzer.plan import Endpoint, Engine
from fuzzer.wire.bounds import BadReplyError, Limits, quoted
from fuzzer.wire.decode import decode
from fuzzer.wire.dialects import Dialect
from fuzzer.wire.params import Params
from fuzzer.wire.session import Body, answered, key_of, open_http
from fuzzer.wire.text import storable
from fuzzer.wire.tokens import count, number

ALTERNATIVES = 5  # best tokens asked for at each place; ranks are exact on vLLM whatever this is
_LLAMACPP_ALTERNATIVES = 40  # here a token that is not listed has no log-probability at all
_LLAMACPP_PLACES = 8  # places that are scored unless told otherwise
_CONNECT_SECONDS = 10.0
_PROMPTS = 64  # prompts whose ids are remembered


@dataclass(frozen=True, slots=True)
class _Question:
    """What the continuation answers: the messages, and how they are asked."""

    messages: tuple[Message, ...]
    params: Params


def can_score(engine: Engine) -> bool:
    """Whether an engine can be asked at all."""
    return engine in _WAYS


class Scorer:
    """Scores continuations on one endpoint; an async context manager.

    ``timeout`` bounds each request, in seconds. ``params`` tells how the prompts are asked (thinking, for instance)
    unless a question brings its own; it must be what the continuations were asked with.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        dialect: Dialect,
        *,
        params: Params,
        timeout: float,
        role: Arm = "reference",
        limits: Limits = Limits(),  # noqa: B008  # immutable
    ) -> None:
        self.endpoint, self.dialect = endpoint, dialect
        self.params = params
        self._timeout, self._limits, self._secret = timeout, limits, key_of(endpoint, role)
        self._http = open_http(endpoint, connect=min(timeout, _CONNECT_SECONDS), read=timeout, role=role)
        self._prompts: dict[str, list[int]] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with anyio.CancelScope(shield=True):
            await self._http.aclose()

    async def score(
        self,
        messages: Sequence[Message],
        ids: Sequence[int],
        *,
        start: int = 0,
        places: int | None = None,
        params: Params | None = None,
    ) -> Scores:
        """The scores of ``ids`` as the answer to ``messages``; raises nothing but cancellation.

        With ``start`` and ``places`` only those are wanted; engines that score a whole continuation at once give all.
        """
        way = _WAYS.get(self.dialect.engine)
        if way is None:
            return Scores(
                detail=f"{self.dialect.engine} gives no log-probabilities for a continuation that it is given"
            )
        if not ids:
            return Scores(detail="there is no token to score")
        try:
            asked = dataclasses.replace(params or self.params, max_tokens=1, stream=False, logprobs=0)
            return await way(self, _Question(tuple(messages), asked), tuple(ids), max(start, 0), places)
        except BadReplyError as bad:
            return Scores(detail=bad.detail.replace(self._secret, "***") if self._secret else bad.detail)

    async def post(self, path: str, body: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
        """The JSON object that one POST gives, or ``BadReplyError``."""
        content = json.dumps(body).encode()
        headers = {"content-type": "application/json"}
        request = self._http.build_request("POST", self.endpoint.base + path, content=content, headers=headers)
        try:
            with anyio.fail_after(self._timeout):
                status, data = await self._fetch(request)
        except TimeoutError:
            raise BadReplyError("timeout-total", f"no whole reply from {path} within {self._timeout:g} s") from None
        if not 200 <= status < 300:
            raise BadReplyError("refused", f"{path}: HTTP {status}: {quoted(data[:300].decode('utf-8', 'replace'))}")
        value = decode(data, self._limits)
        if not isinstance(value, dict):
            raise BadReplyError("bad-shape", f"{path}: not a JSON object")
        return value

    async def _fetch(self, request: httpx.Request) -> tuple[int, bytes]:
        async with answered(self._http, request) as response:
            parts: list[bytes] = []
            body = Body(response, self._limits.body_bytes)
            while piece := await body.read():
                parts.append(piece)
            return response.status_code, b"".join(parts)

    async def prompt_ids(self, question: _Question, ask: Callable[[], Awaitable[JsonValue]]) -> list[int]:
        """The ids of a prompt with its template, asked for once a prompt."""
        key = json.dumps(self.dialect.body(None, question.messages, question.params))
        known = self._prompts.get(key)
        if known is None:
            known = _ids(await ask())
            if not known:
                raise BadReplyError("bad-shape", "the engine did not tell the prompt's token ids")
            if len(self._prompts) >= _PROMPTS:
                self._prompts.pop(next(iter(self._prompts)))
            self._prompts[key] = known
        return known

    async def chat(self, question: _Question, extra: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
        """The reply to the prompt, one token long."""
        body = self.dialect.body(self.endpoint.model, question.messages, question.params) | dict(extra)
        return await self.post("/v1/chat/completions", body)


async def _vllm(scorer: Scorer, question: _Question, ids: tuple[int, ...], start: int, places: int | None) -> Scores:
    async def ask() -> JsonValue:
        return (await scorer.chat(question, {})).get("prompt_token_ids")

    prompt = await scorer.prompt_ids(question, ask)
    body: dict[str, JsonValue] = {
        "prompt": [*prompt, *ids], "max_tokens": 1, "temperature": 0, "prompt_logprobs": ALTERNATIVES,
    }  # fmt: skip
    if scorer.endpoint.model is not None:
        body["model"] = scorer.endpoint.model
    told = _at(_at((await scorer.post("/v1/completions", body)).get("choices"), 0), "prompt_logprobs")
    entries = told if isinstance(told, list) else []
    if len(entries) != len(prompt) + len(ids):
        raise BadReplyError("bad-shape", f"{len(entries)} prompt_logprobs for {len(prompt) + len(ids)} tokens")
    return Scores(tokens=tuple(_ranked(token, entry) for token, entry in zip(ids, entries[len(prompt) :], strict=True)))


def _ranked(token: int, entry: JsonValue) -> TokenScore:
    """One place as vLLM tells it: token id (as text) to log-probability, rank and text."""
    table = entry if isinstance(entry, dict) else {}
    values = sorted(
        (value for item in table.values() if (value := number(_at(item, "logprob"))) is not None), reverse=True
    )
    own = table.get(str(token))
    text = _at(own, "decoded_token")
    return TokenScore(
        id=token,
        token=storable(text) if isinstance(text, str) else "",
        logprob=number(_at(own, "logprob")),
        best=values[0] if values else None,
        second=values[1] if len(values) > 1 else None,
        rank=count(_at(own, "rank")),
    )


async def _sglang(scorer: Scorer, question: _Question, ids: tuple[int, ...], start: int, places: int | None) -> Scores:
    async def ask() -> JsonValue:
        reply = await scorer.chat(question, {"return_prompt_token_ids": True})
        return _at(_at(reply.get("choices"), 0), "prompt_token_ids") or reply.get("prompt_token_ids")

    prompt = await scorer.prompt_ids(question, ask)
    body: dict[str, JsonValue] = {
        "input_ids": [*prompt, *ids],
        "sampling_params": {"temperature": 0, "max_new_tokens": 0},
        "return_logprob": True,
        "return_text_in_logprobs": True,
        "logprob_start_len": len(prompt) - 1,
        "top_logprobs_num": ALTERNATIVES,
    }
    meta = (await scorer.post("/generate", body)).get("meta_info")
    own, top = _list(_at(meta, "input_token_logprobs")), _list(_at(meta, "input_top_logprobs"))
    told = [count(_at(entry, 1)) for entry in own[-len(ids) :]]
    if told != list(ids) or len(top) != len(own):
        raise BadReplyError("bad-shape", "input_token_logprobs are not those of the tokens that were given")
    pairs = zip(ids, own[-len(ids) :], top[-len(ids) :], strict=True)
    return Scores(tokens=tuple(_told(token, entry, others) for token, entry, others in pairs))


def _told(token: int, own: JsonValue, top: JsonValue) -> TokenScore:
    """One place as SGLang tells it: (log-probability, id, text) of the token, and of the best ones."""
    logprob, text = number(_at(own, 0)), _at(own, 2)
    values = sorted((value for item in _list(top) if (value := number(_at(item, 0))) is not None), reverse=True)
    better = sum(value > logprob for value in values) if logprob is not None else 0
    return TokenScore(
        id=token,
        token=storable(text) if isinstance(text, str) else "",
        logprob=logprob,
        best=values[0] if values else None,
        second=values[1] if len(values) > 1 else None,
        rank=better + 1 if logprob is not None and better < len(values) else None,
    )


async def _llamacpp(
    scorer: Scorer, question: _Question, ids: tuple[int, ...], start: int, places: int | None
) -> Scores:
    async def ask() -> JsonValue:
        whole = scorer.dialect.body(None, question.messages, question.params)
        template: dict[str, JsonValue] = {
            name: whole[name] for name in ("messages", "chat_template_kwargs") if name in whole
        }
        text = (await scorer.post("/apply-template", template)).get("prompt")
        body: dict[str, JsonValue] = {"content": text, "add_special": True, "parse_special": True}
        return (await scorer.post("/tokenize", body)).get("tokens")

    prompt = await scorer.prompt_ids(question, ask)
    end = min(len(ids), start + (places or _LLAMACPP_PLACES))
    neutral = {name: value for name, value in scorer.dialect.neutral.items() if name != "n"}
    tokens = []
    for place in range(start, end):
        body: dict[str, JsonValue] = neutral | {
            "prompt": [*prompt, *ids[:place]], "n_predict": 1, "n_probs": _LLAMACPP_ALTERNATIVES, "cache_prompt": True,
        }  # fmt: skip
        probabilities = _at((await scorer.post("/completion", body)).get("completion_probabilities"), 0)
        tokens.append(_listed(ids[place], _list(_at(probabilities, "top_logprobs"))))
    return Scores(start=start, tokens=tuple(tokens))


def _listed(token: int, top: list[JsonValue]) -> TokenScore:
    """One place as llama.cpp tells it: the best tokens only, best first."""
    known = [(value, item) for item in top if (value := number(_at(item, "logprob"))) is not None]
    known.sort(key=lambda pair: pair[0], reverse=True)
    values = [value for value, _ in known]
    found = next((place for place, (_, item) in enumerate(known) if count(_at(item, "id")) == token), None)
    text = _at(known[found][1], "token") if found is not None else None
    least = values[-1] if values else None
    return TokenScore(
        id=token,
        token=storable(text) if isinstance(text, str) else "",
        logprob=values[found] if found is not None else least,
        best=values[0] if values else None,
        second=values[1] if len(values) > 1 else None,
        rank=found + 1 if found is not None else None,
        bounded=found is None and least is not None,
    )


_Way = Callable[[Scorer, _Question, tuple[int, ...], int, int | None], Awaitable[Scores]]
_WAYS: dict[Engine, _Way] = {"vllm": _vllm, "sglang": _sglang, "llamacpp": _llamacpp}


def _at(value: JsonValue, key: str | int) -> JsonValue:
    """A member of an object or an element of a list; None where there is none."""
    if isinstance(key, str):
        return value.get(key) if isinstance(value, dict) else None
    return value[key] if isinstance(value, list) and len(value) > key else None


def _list(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []


def _ids(value: JsonValue) -> list[int]:
    """Token ids; empty if they are not."""
    ids = [count(item) for item in _list(value)]
    good = [item for item in ids if item is not None]
    return good if len(good) == len(ids) else []
