"""How often a checker misjudges: right answers in other words, and subtly wrong ones in the same words.

    python -m benchmarks.strictness [--count 30000] [--seed 0] [--show 20]

Prompts are of all families and levels in turn. Intervals are two-sided 95 % (Wilson).
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterator

from fuzzer.history.records import Prompt
from fuzzer.prompts import check
from fuzzer.stats import clopper_pearson_upper, wilson
from tests.prompts.samples import right_ones, told, wrong_ones
from tests.prompts.styles import Said


def measure(
    title: str, samples: Iterator[tuple[Prompt, Said]], misjudged: Callable[[Prompt, Said], bool], show: int
) -> None:
    """Judge all samples; print the rate of misjudged ones, where they stand, and some of them."""
    seen: Counter[str] = Counter()
    faults: Counter[str] = Counter()
    for prompt, said in samples:
        kind = f"{prompt.family}/{prompt.level}"
        seen[kind] += 1
        if misjudged(prompt, said):
            faults[kind] += 1
            if faults.total() <= show:
                print("  ", told(prompt, said))
    k, n = faults.total(), seen.total()
    low, high = wilson(k, n)
    print(f"{title}: {k} of {n} ({k / n:.4%}; 95 % interval {low:.4%} to {high:.4%}; upper bound "
          f"{clopper_pearson_upper(k, n):.4%})")  # fmt: skip
    for kind, count in faults.most_common():
        print(f"    {kind}: {count} of {seen[kind]}")


def main() -> None:
    """Parse the arguments and measure both."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=30_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", type=int, default=20)
    arguments = parser.parse_args()
    count, seed, show = arguments.count, arguments.seed, arguments.show
    measure("right, graded wrong", right_ones(count, seed), lambda p, said: not check(p, said.text).passed, show)
    measure("wrong, graded right", wrong_ones(count, seed), lambda p, said: check(p, said.text).passed, show)


if __name__ == "__main__":
    main()
