"""What a check says about an answer, and what the right answer is as a reply."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal

from fuzzer.history.records import Prompt, ToolCall

Value = Literal["right", "verbose", "wrong", "none", "unchecked"]

WRONG_KINDS = (
    "wrong-last-message", "another-question", "dropped-constraint", "wrong-value", "wrong-tool", "missing-call",
)  # fmt: skip
NONE_KINDS = ("empty", "refusal", "runaway", "no-answer")


@dataclass(frozen=True, slots=True)
class Grade:
    """``right``: the answer alone; ``verbose``: it stands amid other words; ``wrong``; ``none``: no answer was found;
    ``unchecked``: something was said, and nobody knows what is right.

    ``sub_kind`` is one of WRONG_KINDS for "wrong", one of NONE_KINDS for "none", and empty otherwise. ``note`` is one
    line for people; server text in it is repr'd.
    """

    value: Value
    sub_kind: str = ""
    note: str = ""

    @property
    def passed(self) -> bool:
        """Whether the right answer was given, in whatever words."""
        return self.value in ("right", "verbose")


def canonical(prompt: Prompt) -> tuple[str, tuple[ToolCall, ...]]:
    """The right answer as a reply: its text, and its calls.

    Most prompts are answered in words, by ``prompt.answer``. One that is answered by a call holds it in
    ``spec["call"]`` ("name" and "arguments"); then no text is needed, and ``prompt.answer`` is the arguments as JSON.
    """
    call = prompt.spec.get("call")
    if not isinstance(call, dict):
        return prompt.answer, ()
    return "", (ToolCall(name=str(call["name"]), arguments=json.dumps(call["arguments"]), id="call_0"),)
