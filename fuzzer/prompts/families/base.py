"""What a family is: it makes prompts from random numbers, and checks answers without a model."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from fuzzer.history.records import Level, Prompt
from fuzzer.prompts.checks.found import Found
from fuzzer.prompts.checks.judge import judge
from fuzzer.prompts.frame import Task, frame
from fuzzer.prompts.grade import Grade
from fuzzer.prompts.reply import Reply

Check = Callable[[Prompt, Reply], Found]


@dataclass(frozen=True, slots=True)
class Family:
    """A kind of question. ``exposes`` says which failure it is good at showing."""

    name: str
    summary: str
    exposes: str
    pose: Callable[[random.Random, Level], Task]
    check_easy: Check
    check_hard: Check
    levels: tuple[Level, ...] = ("easy", "hard")

    def generate(self, rng: random.Random, prompt_id: str, level: Level) -> Prompt:
        """A prompt that depends on nothing but the random generator's state."""
        return frame(self.name, rng, prompt_id, level, self.pose(rng, level))

    def check(self, prompt: Prompt, text: str, finish_reason: str | None = None) -> Grade:
        """What an answer to one of this family's prompts is worth, judged from the prompt alone."""
        return judge(prompt, text, finish_reason, self.check_easy if prompt.level == "easy" else self.check_hard)
