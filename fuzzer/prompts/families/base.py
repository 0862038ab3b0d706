"""What a family is: it makes prompts from random numbers, and checks answers without a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from fuzzer.history.records import Level, Prompt, ToolCall
from fuzzer.prompts.checks.found import Found
from fuzzer.prompts.checks.judge import judge
from fuzzer.prompts.draws import Draws
from fuzzer.prompts.frame import Task, frame
from fuzzer.prompts.grade import Grade
from fuzzer.prompts.reply import Reply

Check = Callable[[Prompt, Reply], Found]


@dataclass(frozen=True, slots=True)
class Family:
    """A kind of question. ``exposes`` says which failure it is good at showing.

    ``weights`` are its shares of the default mix by level, easiest first; 0 means only where asked for.
    ``check_reply`` finds the answer in a reply, at whatever level; ``grade.canonical`` gives the right one.
    """

    name: str
    summary: str
    exposes: str
    pose: Callable[[Draws, Level], Task]
    check_reply: Check
    weights: Mapping[Level, int]

    @property
    def levels(self) -> tuple[Level, ...]:
        """The forms that it comes in, easiest first."""
        return tuple(self.weights)

    def generate(self, rng: Draws, prompt_id: str, level: Level) -> Prompt:
        """A prompt that depends on nothing but the random generator's state."""
        return frame(self.name, rng, prompt_id, level, self.pose(rng, level))

    def check(
        self, prompt: Prompt, text: str, finish_reason: str | None = None,
        calls: Sequence[ToolCall] = (), reasoning: str = "",
    ) -> Grade:  # fmt: skip
        """What an answer to one of this family's prompts is worth, judged from the prompt alone."""
        return judge(prompt, text, finish_reason, self.check_reply, calls, reasoning)
