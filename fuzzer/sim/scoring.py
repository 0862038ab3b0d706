"""Scoring of a given continuation: ``POST /v1/completions`` with ``prompt_logprobs``, as vLLM answers it.

Fields and shape: vllm/entrypoints/openai/completion/protocol.py. The prompt comes as token ids: those of a chat prompt
that this engine has read (``prompt_token_ids`` of its reply), then the continuation. The log-probabilities are those of
one prefill, not of the decoding that emitted the tokens: they differ by noise, as in a real engine.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterable, Sequence
from typing import Any

from starlette.requests import Request as HttpRequest
from starlette.responses import Response

from fuzzer.sim.engine import Engine, Reading
from fuzzer.sim.logits import HEADS, Batch
from fuzzer.sim.request import MAX_TOP_LOGPROBS, BadRequestError
from fuzzer.sim.sampling import GREEDY, Chooser
from fuzzer.sim.sequence import Emission, Limits, Script
from fuzzer.sim.sequence import Sequence as Walk
from fuzzer.sim.tokens import EOS, token_id

_PREFILL = Batch(1, 1, 1.0)
_PREFILL_ROWS = 100_000  # rows of no decoding step: prefill runs other kernels, with other rounding
_PROMPT_LOGPROB = -1.0  # what is said of the prompt's own tokens, which nobody asks about


class Forced(Chooser):
    """Says what it is told, where the model considers it; else what the model would say."""

    def __init__(self) -> None:
        super().__init__(GREEDY)
        self.wanted = 0

    def choose(self, values: Sequence[float], tokens: Sequence[str], key: bytes, place: int) -> int:
        """The place of the wanted token, or of the best one."""
        ids = [token_id(token) for token in tokens]
        return ids.index(self.wanted) if self.wanted in ids else super().choose(values, tokens, key, place)


class Scorer(Walk):
    """Walks the model's decisions along a continuation that is not its own."""

    def __init__(self, reading: Reading) -> None:
        super().__init__(Limits(max_tokens=1, logprobs=True))
        self.begin(Script(reading.nodes, reading.key))
        self._forced = self._chooser = Forced()

    def along(self, ids: Sequence[int], head: str) -> Iterable[Emission]:
        """One emission a token, with the log-probabilities at its place; a foreign token takes the expected one's."""
        for position, wanted in enumerate(ids):
            self._forced.wanted = wanted
            emission = self._next(_PREFILL, _PREFILL_ROWS + position, HEADS[head], position, drafted=False)
            if emission.id != wanted:
                known = {token_id(token): token for token, _ in emission.top}
                emission.replace(known.get(wanted, f"<{wanted}>"))
            yield emission


class ScoringEndpoint:
    """Answers scoring requests for the prompts that the engine has read."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def serve(self, request: HttpRequest) -> Response:
        """Serve one request."""
        config = self._engine.config
        try:
            if config.api_key is not None and request.headers.get("authorization") != f"Bearer {config.api_key}":
                raise BadRequestError("Unauthorized", 401, "AuthenticationError")
            body = self._reply(_fields(await request.body()))
        except BadRequestError as error:
            return Response(error.body(), error.status, media_type="application/json")
        return Response(json.dumps(body), media_type="application/json")

    def _reply(self, fields: dict[str, Any]) -> dict[str, Any]:
        prompt, count = fields.get("prompt"), fields.get("prompt_logprobs")
        if not isinstance(prompt, list) or not prompt or not all(_is_id(item) for item in prompt):
            raise BadRequestError("prompt: the simulated engine takes a list of token ids", param="prompt")
        if not isinstance(count, int) or isinstance(count, bool) or not 0 <= count <= MAX_TOP_LOGPROBS:
            raise BadRequestError(
                f"prompt_logprobs must be between 0 and {MAX_TOP_LOGPROBS} here.", param="prompt_logprobs"
            )
        reading = next((one for one in self._engine.readings if tuple(prompt[: len(one.ids)]) == one.ids), None)
        if reading is None:
            raise BadRequestError("prompt: it does not begin with a chat prompt that was read here", param="prompt")
        places: list[dict[str, Any] | None] = [None]
        places += [{str(token): _entry(_PROMPT_LOGPROB, 1, "")} for token in prompt[1 : len(reading.ids)]]
        scored = Scorer(reading).along(prompt[len(reading.ids) :], self._engine.config.lm_head)
        places += [
            _place(emission, token, count) for emission, token in zip(scored, prompt[len(reading.ids) :], strict=True)
        ]
        choice = {
            "index": 0, "text": "", "logprobs": None, "finish_reason": "length", "stop_reason": None,
            "prompt_logprobs": places,
        }  # fmt: skip
        return {
            "id": f"cmpl-{uuid.uuid4().hex}",
            "object": "text_completion",
            "created": int(time.time()),
            "model": self._engine.config.model,
            "choices": [choice],
            "usage": {"prompt_tokens": len(prompt), "completion_tokens": 1, "total_tokens": len(prompt) + 1},
        }


def _place(emission: Emission, token: int, count: int) -> dict[str, Any]:
    """The given token and the ``count`` best ones, by id."""
    ranked = {token_id(text): (value, rank, text) for rank, (text, value) in enumerate(emission.top, 1)}
    given = ranked.get(token, (emission.logprob, len(ranked) + 1, emission.token))
    shown = {token: given} | dict(list(ranked.items())[:count])
    return {str(key): _entry(value, rank, "" if text == EOS else text) for key, (value, rank, text) in shown.items()}


def _entry(logprob: float, rank: int, text: str) -> dict[str, Any]:
    return {"logprob": logprob, "rank": rank, "decoded_token": text}


def _is_id(item: object) -> bool:
    return isinstance(item, int) and not isinstance(item, bool) and 0 <= item < 2**31


def _fields(body: bytes) -> dict[str, Any]:
    try:
        fields = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise BadRequestError(f"JSON decode error: {error}") from error
    if not isinstance(fields, dict):
        raise BadRequestError("Input should be a valid dictionary")
    return fields
