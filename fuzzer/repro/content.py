"""The simplest question that still fails, found by Hypothesis: for bugs that show in every replay."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from contextlib import suppress

import anyio.from_thread
import anyio.to_thread

from fuzzer.history.records import Prompt

EXAMPLES = 12  # prompts that are tried before a failing one must be found
TRIES = 24  # prompts that are tried in all


async def simplest(fails: Callable[[Prompt], Coroutine[object, object, bool]], seed: str) -> Prompt | None:
    """The simplest prompt, as Hypothesis orders them, of which ``fails`` is true; None if it finds none."""
    tried: dict[str, bool] = {}

    def condition(prompt: Prompt) -> bool:
        key = prompt.model_dump_json(exclude={"id"})
        if key not in tried:
            if len(tried) >= TRIES:
                return False
            tried[key] = anyio.from_thread.run(fails, prompt)
        return tried[key]

    return await anyio.to_thread.run_sync(_find, condition, seed)


def _find(condition: Callable[[Prompt], bool], seed: str) -> Prompt | None:
    import random

    from hypothesis import HealthCheck, Phase, find, settings
    from hypothesis.errors import Flaky, NoSuchExample, Unsatisfiable

    from fuzzer.prompts.strategies import prompts

    quiet = settings(
        database=None,
        deadline=None,
        max_examples=EXAMPLES,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    strategy = prompts(levels=["easy"]).map(lambda prompt: prompt.model_copy(update={"id": f"v-{prompt.family}"}))
    with suppress(NoSuchExample, Unsatisfiable, Flaky):
        return find(strategy, condition, settings=quiet, random=random.Random(seed))
    return None
