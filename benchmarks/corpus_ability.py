"""How many rows of each corpus the simulated model answers right when nothing disturbs it.

    python -m benchmarks.corpus_ability [--corpus NAME]... [--show-wrong]

In one process: the solver's answer, graded by the corpus' own check.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator

from fuzzer.history.records import Prompt
from fuzzer.prompts import PromptPool, check, corpora
from fuzzer.sim.answer import text_of
from fuzzer.sim.solver import solve


def prompts(corpus: str) -> Iterator[Prompt]:
    """All rows of a corpus as prompts."""
    pool = PromptPool(0, corpora=[corpus])
    yield from map(pool.prompt, range(pool.size or 0))


def answer(prompt: Prompt) -> str:
    """What the simulated model says to a prompt."""
    return text_of(solve(tuple((said.role, said.content) for said in prompt.messages)))


def able(prompt: Prompt) -> bool:
    """Whether the simulated model answers a prompt right."""
    return check(prompt, answer(prompt), finish_reason="stop").passed


def measure(corpus: str, *, show_wrong: bool = False) -> tuple[int, int]:
    """Rows answered right, and all rows; wrong ones are printed if asked for."""
    kinds: Counter[str] = Counter()
    right: Counter[str] = Counter()
    for prompt in prompts(corpus):
        kinds[prompt.level] += 1
        right[prompt.level] += able(prompt)
        if show_wrong and not able(prompt):
            print(f"  {prompt.messages[-1].content!r}\n    right: {prompt.answer!r}, said: {answer(prompt)!r}")
    levels = ", ".join(f"{level} {right[level]}/{count}" for level, count in sorted(kinds.items()))
    print(f"{corpus}: {right.total()}/{kinds.total()} = {right.total() / kinds.total():.0%} ({levels})")
    return right.total(), kinds.total()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", action="append")
    parser.add_argument("--show-wrong", action="store_true")
    arguments = parser.parse_args()
    for corpus in arguments.corpus or corpora.shipped():
        measure(corpus, show_wrong=arguments.show_wrong)


if __name__ == "__main__":
    main()
