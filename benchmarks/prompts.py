"""What 10,000 prompts have in common, and every canonical answer against every other prompt of its family.

    python -m benchmarks.prompts [--count 10000] [--seed 0] [--processes 2]

An answer is given to another prompt between that prompt's own marks, as in a reply that restates its constraints and
then answers another question.
"""

from __future__ import annotations

import argparse
import hashlib
import time
from collections import Counter, defaultdict
from concurrent.futures import ProcessPoolExecutor

from fuzzer.history.records import Prompt
from fuzzer.stats import clopper_pearson_upper
from tests.prompts.crossing import differ, many, passes_for, right_alone
from tests.prompts.styles import core

TELLING = 8  # characters


def repeats(texts: list[str]) -> int:
    """How many texts recur."""
    return sum(times > 1 for times in Counter(texts).values())


def cross(kind: list[Prompt]) -> tuple[str, int, int, int]:
    """The family, own answers that pass, answers to others that pass, and how many of those there were."""
    own = sum(map(right_alone, kind))
    pairs = passed = 0
    for prompt in kind:
        for other in kind:
            if prompt is not other and differ(prompt, other):
                pairs += 1
                passed += passes_for(prompt, other)
    return kind[0].family, own, passed, pairs


def main() -> None:
    """Generate, compare, and print the numbers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2)
    arguments = parser.parse_args()
    began = time.perf_counter()
    prompts = many(arguments.count, arguments.seed)
    print(f"{len(prompts):,} prompts in {time.perf_counter() - began:.1f} s, sha256 {digest(prompts)}")
    telling = [prompt for prompt in prompts if prompt.attributable]
    canaries = [mark.text for prompt in prompts for mark in prompt.canaries if not mark.cohort]
    items = [item.casefold() for prompt in telling for item in set(prompt.items)]
    answers = [core(prompt).casefold() for prompt in telling if len(core(prompt)) >= TELLING]
    print(f"canaries: {len(canaries):,}, of which {repeats(canaries)} recur")
    print(f"items of attributable prompts: {len(items):,}, of which {repeats(items)} recur")
    print(f"answers of attributable prompts: {len(answers):,}, of which {repeats(answers)} recur")
    families: dict[str, list[Prompt]] = defaultdict(list)
    for prompt in prompts:
        families[prompt.family].append(prompt)
    total = total_passed = 0
    with ProcessPoolExecutor(arguments.processes) as workers:
        for family, own, passed, pairs in workers.map(cross, families.values()):
            total, total_passed = total + pairs, total_passed + passed
            print(
                f"{family}: {own} of {len(families[family])} pass their own check; {passed} of {pairs:,} others' pass"
            )
    print(f"all: {total_passed} of {total:,} answers of other prompts pass (upper 95 % bound "
          f"{clopper_pearson_upper(total_passed, total):.2e}), {time.perf_counter() - began:.0f} s")  # fmt: skip


def digest(prompts: list[Prompt]) -> str:
    """The first part of a hash of all the prompts' bytes."""
    return hashlib.sha256("\n".join(prompt.model_dump_json() for prompt in prompts).encode()).hexdigest()[:16]


if __name__ == "__main__":
    main()
