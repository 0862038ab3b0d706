"""The parsers that stand between a model's text and the reply: reasoning and calls of functions are taken out of it.

The model writes ``<think>`` and ``<tool_call>`` blocks as many open models do; the reply has channels of their own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

_THINK, _THOUGHT = "<think>", "</think>"
_CALL, _CALLED = "<tool_call>", "</tool_call>"
_HEAD = re.compile(r'\s*\{\s*"name"\s*:\s*"([^"\\]*)"\s*,\s*"arguments"\s*:\s*(?=\{)')
_LONGEST_HEAD = 400  # characters after which a call that has not begun is no call
_LONGEST_TAIL = 60  # characters after its arguments in which a call must end


class Part(NamedTuple):
    """A piece of one channel; ``call`` counts the calls of functions from 0."""

    kind: Literal["content", "reasoning", "name", "arguments"]
    text: str
    call: int = 0


class Channels:
    """Parts of one reply, as its text comes; what is no sound block stays content.

    ``tools``: calls are looked for; ``thoughts``: reasoning is.
    """

    def __init__(self, *, tools: bool, thoughts: bool = True) -> None:
        self.calls = 0
        self._tools = tools
        self._held = ""
        self._state: Callable[[bool], Iterator[Part]] = self._begin if thoughts else self._speak
        self._depth = 0
        self._quoted = self._escaped = False

    def feed(self, text: str, *, over: bool) -> list[Part]:
        """The parts that are certain after this text; ``over`` says that no more will come."""
        self._held += text
        parts: list[Part] = []
        while self._held:
            before = (self._held, self._state)
            parts += self._state(over)
            if before == (self._held, self._state):
                break
        if over and self._held:
            parts.append(Part("content", self._held))
            self._held = ""
        return [part for part in parts if part.text]

    def _begin(self, over: bool) -> Iterator[Part]:
        bare = self._held.lstrip()
        if bare == _THINK and not over:
            return
        if bare.startswith(_THINK):
            self._held = bare.removeprefix(_THINK).removeprefix("\n")
            self._state = self._reason
        elif over or not _THINK.startswith(bare):
            self._state = self._speak
        yield from ()  # a block's mark is nobody's part

    def _reason(self, over: bool) -> Iterator[Part]:
        text, found = self._until(_THOUGHT, over)
        if found:
            self._state = self._speak_on
        yield Part("reasoning", text)

    def _speak_on(self, _: bool) -> Iterator[Part]:
        """After a block: the line breaks that follow it belong to it."""
        self._held = self._held.lstrip("\n")
        if self._held:
            self._state = self._speak
        yield from ()

    def _speak(self, over: bool) -> Iterator[Part]:
        text, found = self._until(_CALL, over) if self._tools else (self._held, False)
        if not self._tools:
            self._held = ""
        if found:
            self._state = self._open
        yield Part("content", text)

    def _open(self, over: bool) -> Iterator[Part]:
        head = _HEAD.match(self._held)
        if head is not None:
            self._held = self._held[head.end() :]
            self._state, self._depth, self._quoted, self._escaped = self._argue, 0, False, False
            self.calls += 1
            yield Part("name", head.group(1), self.calls - 1)
        elif over or len(self._held) > _LONGEST_HEAD:
            text, self._held, self._state = self._held, "", self._speak
            yield Part("content", _CALL + text)

    def _argue(self, _: bool) -> Iterator[Part]:
        end = next((place + 1 for place, letter in enumerate(self._held) if self._closes(letter)), None)
        if end is not None:
            self._state = self._close
        text, self._held = self._held[:end], "" if end is None else self._held[end:]
        yield Part("arguments", text, self.calls - 1)

    def _closes(self, letter: str) -> bool:
        """Whether the object of the arguments ends with this letter."""
        if self._escaped or (self._quoted and letter == "\\"):
            self._escaped = not self._escaped
        elif letter == '"':
            self._quoted = not self._quoted
        elif not self._quoted and letter in "{}":
            self._depth += 1 if letter == "{" else -1
            return self._depth == 0
        return False

    def _close(self, over: bool) -> Iterator[Part]:
        tail, found, rest = self._held.partition(_CALLED)
        if found:
            self._held, self._state = rest, self._speak_on
        elif len(tail) > _LONGEST_TAIL or over:
            self._held, self._state = "" if over else tail, self._speak
        yield from ()

    def _until(self, mark: str, over: bool) -> tuple[str, bool]:
        """The held text up to a mark, and whether that was found; what may be the mark's beginning is kept."""
        text, found, rest = self._held.partition(mark)
        if found:
            self._held = rest
            return text, True
        kept = 0 if over else next((size for size in range(len(mark) - 1, 0, -1) if text.endswith(mark[:size])), 0)
        self._held = text[len(text) - kept :]
        return text[: len(text) - kept], False
