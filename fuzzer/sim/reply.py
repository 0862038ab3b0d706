"""Reply bodies: chat completions, stream chunks, as vLLM words them."""

from __future__ import annotations

import json
import time
import uuid
from typing import Any

from fuzzer.sim.channels import Channels, Part
from fuzzer.sim.config import SimConfig
from fuzzer.sim.draws import fingerprint
from fuzzer.sim.engine import Request
from fuzzer.sim.sequence import Emission, Sequence

DONE = b"data: [DONE]\n\n"


def system_fingerprint(config: SimConfig) -> str:
    """Stays the same while the launch configuration does."""
    shape = f"{config.model}\x1f{config.speculative}\x1f{config.k}\x1f{config.lm_head}\x1f{config.seed}"
    return f"vllm-{config.version}-{fingerprint(shape).hex()[:8]}"


class Replies:
    """Builds the bodies of one request's reply."""

    def __init__(self, config: SimConfig, mark: str, request: Request, request_id: str) -> None:
        self._request = request
        self._head = {
            "id": f"chatcmpl-{request_id}",
            "object": "chat.completion.chunk",
            "created": int(time.time()),
            "model": config.model,
        }
        self._mark = mark
        self._opening = b"data: " + json.dumps(self._head).encode()[:-1]
        self._open: set[int] = set()
        self._ended: set[int] = set()
        tools, thoughts = request.chat.calls and "calls" not in request.deaf, "thoughts" not in request.deaf
        self._channels = [Channels(tools=tools, thoughts=thoughts) for _ in range(request.chat.n)]

    def chunks(self) -> bytes:
        """The stream events for what is newly delivered, choice by choice."""
        parts = []
        for index, sequence in enumerate(self._request.sequences):
            if index not in self._ended:
                parts.append(self._chunk(index, sequence))
                if sequence.finish_reason:
                    self._ended.add(index)
        return b"".join(parts)

    def _chunk(self, index: int, sequence: Sequence) -> bytes:
        """The role first, and the reason of the end with the last."""
        text, fresh = sequence.take()
        role = b"" if index in self._open else self._event(index, {"role": "assistant", "content": ""}, [], first=True)
        self._open.add(index)
        if not text and not fresh and not sequence.finish_reason:
            return role
        parts = self._channels[index].feed(text, over=sequence.finish_reason is not None)
        return role + self._event(index, _delta(parts), fresh)

    def _reason(self, index: int) -> str | None:
        """Why it ended; a call of a function is a reason of its own."""
        reason = self._request.sequences[index].finish_reason
        return "tool_calls" if reason == "stop" and self._channels[index].calls else reason

    def ending(self) -> bytes:
        """The usage event if it was asked for, and the mark of the end."""
        if not self._request.chat.include_usage:
            return DONE
        body = self._head | {"choices": [], "usage": self._usage(), "system_fingerprint": self._mark}
        return b"data: " + json.dumps(body).encode() + b"\n\n" + DONE

    def whole(self) -> bytes:
        """The body of a reply that is not streamed."""
        body = self._head | {
            "object": "chat.completion",
            "choices": [self._choice(index, sequence) for index, sequence in enumerate(self._request.sequences)],
            "usage": self._usage(),
            "system_fingerprint": self._mark,
            "prompt_logprobs": None,
            "prompt_token_ids": self._request.reading.ids if self._request.chat.return_token_ids else None,
        }
        return json.dumps(body).encode()

    def _choice(self, index: int, sequence: Sequence) -> dict[str, Any]:
        text, tokens = sequence.take()
        parts = self._channels[index].feed(text, over=True)
        calls = [_call(call, parts) for call in range(self._channels[index].calls)]
        message = {
            "role": "assistant",
            "content": _joined("content", parts) or (None if calls else ""),
            "refusal": None,
            "tool_calls": calls,
            "reasoning_content": _joined("reasoning", parts) or None,
        }
        return {
            "index": index,
            "message": message,
            "logprobs": self._logprobs(tokens),
            "finish_reason": self._reason(index),
            "stop_reason": sequence.stop_reason,
            "token_ids": [token.id for token in tokens] if self._request.chat.return_token_ids else None,
        }

    def _event(self, index: int, delta: dict[str, Any], fresh: list[Emission], first: bool = False) -> bytes:
        sequence = self._request.sequences[index]
        reason = None if first else self._reason(index)
        rest: dict[str, Any] = {"logprobs": self._logprobs(fresh) if fresh else None, "finish_reason": reason}
        if reason:
            rest["stop_reason"] = sequence.stop_reason
        if self._request.chat.return_token_ids:
            rest["token_ids"] = [token.id for token in fresh] if not first else None
        tail: dict[str, Any] = {"system_fingerprint": self._mark}
        if first and self._request.chat.return_token_ids:
            tail["prompt_token_ids"] = self._request.reading.ids
        return b"".join(
            (self._opening, b', "choices": [{"index": %d, "delta": ' % index, json.dumps(delta).encode(), b", ",
             json.dumps(rest).encode()[1:-1], b"}], ", json.dumps(tail).encode()[1:], b"\n\n")
        )  # fmt: skip

    def _usage(self) -> dict[str, Any]:
        prompt = len(self._request.reading.ids)
        completion = sum(len(sequence.emitted) for sequence in self._request.sequences)
        return {
            "prompt_tokens": prompt,
            "total_tokens": prompt + completion,
            "completion_tokens": completion + self._request.overcount,
            "prompt_tokens_details": {"cached_tokens": self._request.cached_tokens},
        }

    def _logprobs(self, tokens: list[Emission]) -> dict[str, Any] | None:
        chat = self._request.chat
        return {"content": [_explained(token, chat.top_logprobs) for token in tokens]} if chat.logprobs else None


def _delta(parts: list[Part]) -> dict[str, Any]:
    reasoning, content = _joined("reasoning", parts), _joined("content", parts)
    calls = [
        {"index": call} | _call(call, parts)
        for call in dict.fromkeys(part.call for part in parts if part.kind in ("name", "arguments"))
    ]
    delta: dict[str, Any] = {"reasoning_content": reasoning} if reasoning else {}
    if content or not (reasoning or calls):
        delta["content"] = content
    return delta | ({"tool_calls": calls} if calls else {})


def _call(call: int, parts: list[Part]) -> dict[str, Any]:
    own = [part for part in parts if part.call == call]
    name, arguments = _joined("name", own), _joined("arguments", own)
    if not name:
        return {"function": {"arguments": arguments}}
    function = {"name": name, "arguments": arguments}
    return {"id": f"chatcmpl-tool-{uuid.uuid4().hex}", "type": "function", "function": function}


def _joined(kind: str, parts: list[Part]) -> str:
    return "".join(part.text for part in parts if part.kind == kind)


def _explained(emission: Emission, top: int) -> dict[str, Any]:
    """An entry as vLLM gives it: the emitted token stands first in its list, which is then cut to the asked length."""
    emitted = (emission.token, emission.logprob)
    ranked = [emitted, *(pair for pair in emission.top if pair[0] != emission.token)][:top]
    return _entry(*emitted) | {"top_logprobs": [_entry(*pair) for pair in ranked]}


def _entry(token: str, logprob: float) -> dict[str, Any]:
    return {"token": token, "logprob": logprob, "bytes": list(token.encode("utf-8", "surrogatepass"))}
