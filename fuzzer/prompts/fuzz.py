"""The examples of ``gate --fuzz N``: drawn by Hypothesis's engine from the run's seed, kept in the run directory."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from fuzzer.errors import UsageError
from fuzzer.history.records import Prompt
from fuzzer.prompts.families import FAMILIES

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

    from fuzzer.finding import Finding
    from fuzzer.prompts.strategies import Recipe

_BATCH = 40  # examples from one seed: the more, the more of them are alike, for Hypothesis varies what it has tried

EXAMPLES = "fuzz-examples.jsonl"
"""The name of the file of a run that holds the examples with findings."""


def draw(seed: int, count: int, families: Sequence[str] = ()) -> tuple[Prompt, ...]:
    """So many prompts of the families (none: those of the default mix), in all the ways of ``strategies``.

    The same seed, with the same version of Hypothesis, gives the same bytes. Ids are z000000, z000001 and so on;
    names and canaries are given to no other prompt of a run. UsageError for an unknown family or too high a count.
    """
    from fuzzer.prompts.strategies import LAST, recipes

    if count > LAST + 1:
        raise UsageError(f"--fuzz {count}: at most {LAST + 1} examples have names of their own")
    names = families or [name for name, family in FAMILIES.items() if any(family.weights.values())]
    strategy = recipes(names)
    drawn: dict[Recipe, None] = {}
    for turn in itertools.count():
        if len(drawn) >= count:
            break
        drawn |= dict.fromkeys(_generated(strategy, f"{seed}/{turn}"))
    chosen = itertools.islice(drawn, count)
    return tuple(recipe.make(seed, index, f"z{index:06d}") for index, recipe in enumerate(chosen))


def save(path: Path, prompts: Iterable[Prompt]) -> None:
    """Write prompts as JSON lines, whole or not at all."""
    unfinished = path.with_name(f"{path.name}.part")
    unfinished.write_text("".join(f"{prompt.model_dump_json()}\n" for prompt in prompts), encoding="utf-8")
    unfinished.replace(path)


def load(path: Path) -> tuple[Prompt, ...]:
    """The prompts that ``save`` wrote. UsageError says which line is bad, and why."""
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: the examples of --fuzz cannot be read: {error}") from error
    return tuple(_prompt(path, number, line) for number, line in enumerate(lines, 1) if line)


def interesting(findings: Iterable[Finding], prompts: Iterable[Prompt]) -> tuple[Prompt, ...]:
    """The examples that some finding names, in their order.

    A run gives its examples the first numbers of its own: p000007 in a finding is z000007.
    """
    named = {finding.prompt for finding in findings if finding.prompt is not None}
    return tuple(prompt for prompt in prompts if not named.isdisjoint((prompt.id, f"p{prompt.id[1:]}")))


def _prompt(path: Path, number: int, line: str) -> Prompt:
    try:
        return Prompt.model_validate_json(line)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "line"
        raise UsageError(f"{path}, line {number}: {where}: {first['msg']}") from error


def _generated(strategy: SearchStrategy[Recipe], seed: str) -> list[Recipe]:
    """Some _BATCH examples that Hypothesis generates from a seed."""
    import hypothesis
    from hypothesis.configuration import set_hypothesis_home_dir

    drawn: list[Recipe] = []

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=_BATCH,
        phases=[hypothesis.Phase.generate],
        database=None,
        derandomize=False,
        deadline=None,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(strategy)
    def collect(recipe: Recipe) -> None:
        drawn.append(recipe)

    with tempfile.TemporaryDirectory(prefix="specfuzz-fuzz-") as folder:
        set_hypothesis_home_dir(folder)  # it would leave a cache in the working directory
        try:
            collect()
        finally:
            set_hypothesis_home_dir(None)
    return drawn
