"""Calls of functions, put together from the fragments in which a stream delivers them."""

from __future__ import annotations

from dataclasses import dataclass, field

from pydantic import JsonValue

from fuzzer.history.records import ToolCall
from fuzzer.wire.bounds import BadReplyError, quoted
from fuzzer.wire.text import label, storable, string

MOST = 64  # calls in one reply that are told apart; of what comes after, only the arguments are kept


@dataclass(slots=True)
class _Call:
    names: list[str] = field(default_factory=list)
    arguments: list[str] = field(default_factory=list)
    id: str = ""


class Calls:
    """Collects ``tool_calls`` of deltas and messages. Fragments belong together by index, else by place in the list."""

    def __init__(self) -> None:
        self._calls: dict[int, _Call] = {}
        self.anomalies: dict[str, None] = {}

    def take(self, calls: JsonValue) -> list[str]:
        """Adds one chunk's fragments; the texts that came, or ``BadReplyError`` for what is no list of calls."""
        delivered: list[str] = []
        for position, call in enumerate(calls if isinstance(calls, list) else [None]):
            if not isinstance(call, dict):
                raise BadReplyError("bad-shape", f"not a chat completion: tool_calls is {quoted(calls)}")
            index = call.get("index")
            slot = index if isinstance(index, int) and not isinstance(index, bool) else position
            delivered += self._fragment(self._calls.setdefault(slot, _Call()), call)
        return delivered

    def _fragment(self, into: _Call, call: dict[str, JsonValue]) -> list[str]:
        into.id, before = into.id or label(call.get("id")) or "", into.id
        if before and (label(call.get("id")) or before) != before:
            self.anomalies["call-id-changed"] = None
        function = call.get("function")
        if not isinstance(function, dict):
            return []
        name, arguments = string(function.get("name"), "name"), string(function.get("arguments"), "arguments")
        delivered = []
        # A name may come in fragments; the whole of it once more is how some servers label every chunk.
        if name and name != "".join(into.names):
            into.names.append(name)
            delivered.append(name)
        if arguments:
            into.arguments.append(arguments)
            delivered.append(arguments)
        return delivered

    def arguments(self) -> list[list[str]]:
        """The fragments of each call's arguments, for calls that have any."""
        return [call.arguments for call in self._calls.values() if call.arguments]

    def whole(self) -> tuple[ToolCall, ...]:
        """The calls in the order in which they began, at most ``MOST`` of them."""
        if len(self._calls) > MOST:
            self.anomalies["many-calls"] = None
        return tuple(
            ToolCall(name=storable("".join(call.names)), arguments=storable("".join(call.arguments)), id=call.id)
            for call in list(self._calls.values())[:MOST]
        )
