"""From parsed chunks and bodies to ``Received``: what was said, what it cost, and what was odd about the way of it.

Wrong types in the answer itself (choices, message, content, finish_reason) make it unusable ("bad-shape"). Wrong types
in what surrounds it (usage, log-probabilities, token ids) leave it usable: the field is None, an anomaly says so.

Anomalies, each listed once: "after-done", "bad-logprobs", "bad-token-ids", "bad-usage", "broken-end",
"call-id-changed", "chunk-index", "content-after-finish", "duplicate-chunk", "finish-twice", "fingerprint-changed",
"id-changed", "many-calls", "model-changed", "no-content-type", "no-done", "no-finish-reason", "not-streamed",
"open-after-done", "role-twice", "split-surrogate", "streamed".
"""

from __future__ import annotations

from collections.abc import Callable

from pydantic import JsonValue

from fuzzer.history.records import Outcome, Received
from fuzzer.wire.account import Account
from fuzzer.wire.bounds import BadReplyError, quoted
from fuzzer.wire.calls import Calls
from fuzzer.wire.clock import now_ns
from fuzzer.wire.params import Params
from fuzzer.wire.text import joined, label, string
from fuzzer.wire.tokens import Tokens, count

_RAW = 2000


class Reply:
    """Collects one reply. Feed it chunks or one body, then ``end`` or ``fail``, then take ``received``.

    ``on_first`` is called once, when the first content, reasoning, part of a call or token id arrives.
    """

    def __init__(self, params: Params, on_first: Callable[[], None] | None = None) -> None:
        self.http_status: int | None = None
        self.done = False
        self.head = b""
        self._on_first = on_first
        self._choices_wanted = params.overrides.n
        self._outcome: Outcome = "ok"
        self._detail = ""
        self._anomalies: dict[str, None] = {}
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._calls = Calls()
        self._tokens = Tokens(wanted=params.logprobs > 0)
        self._account = Account()
        self._finish: str | None = None
        self._labels: dict[str, str] = {}
        self._created: int | None = None
        self._choices = 0
        self._parts = 0
        self._role_absent = False
        self._last: dict[str, JsonValue] = {}
        self._repeated = False
        self._first_ns: int | None = None
        self._end_ns: int | None = None

    def note(self, anomaly: str) -> None:
        """Lists an anomaly, once."""
        self._anomalies[anomaly] = None

    def mark_done(self) -> None:
        """``[DONE]`` came: the exchange ends here, whatever follows."""
        if self.done:
            self.note("after-done")
            return
        self.done = True
        self._end_ns = now_ns()

    def chunk(self, value: JsonValue) -> None:
        """One chunk of a stream."""
        obj = self._object(value)
        choices = obj.get("choices")
        if choices is None and "usage" in obj:
            choices = []
        before = self._parts
        for choice in self._listed(choices):
            self._choice(choice, "delta")
        if self._parts > before and obj == self._last:
            self._repeated = True
        self._last = obj

    def body(self, value: JsonValue) -> None:
        """The whole of a reply that was not streamed."""
        obj = self._object(value)
        choices = self._listed(obj.get("choices"))
        for choice in choices:
            self._choice(choice, "message")
        verbose = obj.get("__verbose")
        if isinstance(verbose, dict) and verbose.get("tokens"):
            self._guard_ids(verbose["tokens"])
        self._parts = min(self._parts, 1)
        if self._choices and self._finish is None:
            self.note("no-finish-reason")

    def end(self, broken: str = "") -> None:
        """The stream ended, cleanly or (``broken`` says how) with the connection."""
        if self.failed:
            return
        if self.done or self._finish is not None:
            if broken:
                self.note("broken-end")
            if not self.done:
                self.note("no-done")
            if self._finish is None:
                self.note("no-finish-reason")
            if not self._choices:
                raise BadReplyError("bad-shape", "the stream had no choices in it")
        elif broken:
            raise BadReplyError("disconnect", broken)
        elif not self.head:
            raise BadReplyError("empty-body", "HTTP 200 and not one byte of body")
        else:
            raise BadReplyError("truncated-stream", "the stream ended without finish_reason and without [DONE]")

    @property
    def failed(self) -> bool:
        """Whether the reply is known not to be usable."""
        return self._outcome != "ok"

    @property
    def delivered(self) -> int:
        """Tokens that have come so far; chunks, where their tokens are not told apart."""
        return max(self._parts, len(self._tokens))

    def fail(self, bad: BadReplyError) -> None:
        """The reply is not usable; what came before this stays. The first failure is the one that is recorded."""
        if not self.failed:
            self._outcome, self._detail = bad.outcome, bad.detail

    def received(self) -> Received:
        """The record of all this."""
        text, reasoning = self._storable(self._text), self._storable(self._reasoning)
        arguments = "\n".join(self._storable(parts) for parts in self._calls.arguments())
        calls = self._calls.whole()
        for anomaly in self._calls.anomalies:
            self.note(anomaly)
        usage = self._account.usage()
        token_ids = self._tokens.ids(usage, self._finish)
        self._note_duplicates(usage.completion_tokens if usage else None, token_ids)
        return Received(
            outcome=self._outcome,
            detail=self._detail,
            http_status=self.http_status,
            text=text,
            reasoning=reasoning,
            tool_arguments=arguments,
            tool_calls=calls,
            finish_reason=self._finish,
            token_ids=token_ids,
            logprobs=self._tokens.logprobs(),
            usage=usage,
            draft=self._account.draft(),
            model=self._labels.get("model"),
            fingerprint=self._labels.get("system_fingerprint"),
            request_id=self._labels.get("id"),
            created=self._created,
            anomalies=tuple(self._anomalies),
            parts=self._parts,
            raw="" if self._outcome == "ok" else self.head[:_RAW].decode("utf-8", "replace"),
            first_ns=self._first_ns,
            end_ns=self._end_ns or now_ns(),
        )

    def _storable(self, parts: list[str]) -> str:
        text, mended, spoilt = joined(parts)
        if mended:
            self.note("split-surrogate")
        if spoilt:
            self.fail(BadReplyError("bad-encoding", "half of a surrogate pair in the answer"))
        return text

    def _note_duplicates(self, completion_tokens: int | None, token_ids: tuple[int, ...] | None) -> None:
        # Two equal chunks are legal (a repeated token); more of them than tokens were made is not.
        delivered = self._parts if token_ids is None else len(token_ids)
        if self._repeated and completion_tokens is not None and delivered > completion_tokens:
            self.note("duplicate-chunk")

    def _object(self, value: JsonValue) -> dict[str, JsonValue]:
        if not isinstance(value, dict):
            raise BadReplyError("bad-shape", f"a JSON object was expected, not {quoted(value)}")
        if value.get("error") or value.get("object") == "error":
            raise BadReplyError("stream-error", f"an error inside HTTP 200: {quoted(error_message(value))}")
        for name, anomaly in _LABELS:
            new = label(value.get(name))
            if new and self._labels.setdefault(name, new) != new:
                self.note(anomaly)
        if self._created is None:
            self._created = count(value.get("created"))
        if not self._account.take(value):
            self.note("bad-usage")
        return value

    def _listed(self, choices: JsonValue) -> list[JsonValue]:
        if not isinstance(choices, list):
            raise BadReplyError("bad-shape", f"not a chat completion: choices is {quoted(choices)}")
        return choices

    def _choice(self, choice: JsonValue, key: str) -> None:
        if not isinstance(choice, dict):
            raise BadReplyError("bad-shape", f"not a chat completion: a choice is {quoted(choice)}")
        index = choice.get("index")
        if index is not None and (index != 0 or isinstance(index, bool)):
            if isinstance(index, bool) or not isinstance(index, int) or not 0 < index < self._choices_wanted:
                self.note("chunk-index")
            return  # of several choices the first is the answer
        finish = string(choice.get("finish_reason"), "finish_reason")
        message = choice.get(key)
        if message is None and key == "delta" and finish:
            message = {}
        if not isinstance(message, dict):
            raise BadReplyError("bad-shape", f"not a chat completion: {key} is {quoted(message)}")
        self._choices += 1
        self._role(message)
        before = len(self._tokens)
        delivered = self._content(message)
        # LMDeploy has them in the message.
        self._guard_ids(choice["token_ids"] if "token_ids" in choice else message.get("gen_tokens"))
        if not self._tokens.take(choice.get("logprobs"), "".join(delivered)):
            self.note("bad-logprobs")
        if (delivered or len(self._tokens) > before) and self._first_ns is None:
            self._first()
        if delivered:
            self._parts += 1
        if self._finish is not None and (delivered or finish):
            self.note("content-after-finish" if delivered else "finish-twice")
        self._finish = finish or self._finish

    def _content(self, message: dict[str, JsonValue]) -> list[str]:
        content = string(message.get("content"), "content")
        reasoning = string(message.get("reasoning_content"), "reasoning_content")
        reasoning = reasoning or string(message.get("reasoning"), "reasoning")
        delivered = []
        if reasoning:
            self._reasoning.append(reasoning)
            delivered.append(reasoning)
        if content:
            self._text.append(content)
            delivered.append(content)
        calls = message.get("tool_calls")
        if calls:
            delivered.extend(self._calls.take(calls))
        return delivered

    def _role(self, message: dict[str, JsonValue]) -> None:
        # Some servers say the role in every chunk: only a role that comes back after chunks without is odd.
        if not message.get("role"):
            self._role_absent = True
        elif self._role_absent:
            self.note("role-twice")

    def _guard_ids(self, value: JsonValue) -> None:
        if not self._tokens.take_ids(value):
            self.note("bad-token-ids")

    def _first(self) -> None:
        self._first_ns = now_ns()
        if self._on_first is not None:
            self._on_first()


_LABELS = (("id", "id-changed"), ("model", "model-changed"), ("system_fingerprint", "fingerprint-changed"))


def error_message(value: JsonValue) -> str:
    """The message in an error reply of any of the shapes in use, or all of it."""
    inner = value.get("error", value) if isinstance(value, dict) else value
    if isinstance(inner, dict):
        for key in ("message", "detail", "msg"):
            if inner.get(key):
                inner = inner[key]
                break
    return inner if isinstance(inner, str) else str(inner)
