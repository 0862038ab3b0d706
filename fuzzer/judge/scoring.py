"""Which outputs of a calibration block the reference is asked to score.

The candidate's outputs that part from the reference's are scored, and just so the reference's own that part from its
first pass: all of a prompt's or none, so that both sides are measured alike. A few that part from nothing show what
scoring alone makes of the reference's own tokens. The choice follows from recorded exchanges and the seed.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from fuzzer.history.records import Exchange, Prompt
from fuzzer.judge.partings import Pair, Passes, output_of, pairs
from fuzzer.oracles.divergence import first_divergence

SCORED_PROMPTS = 12
"""Prompts of a block whose parted outputs are scored: at most four outputs each."""

OWN_OUTPUTS = 4
"""Outputs of the reference in a block that part from nothing and are scored too."""


LONGEST = 4096
"""Tokens of a prompt: vLLM tells the log-probabilities of every one of them, wanted or not."""


@dataclass(frozen=True, slots=True)
class Question:
    """An output that is to be scored; ``start`` is its first token that the reference did not say itself."""

    exchange: Exchange
    start: int = 0


def questions(table: Mapping[str, tuple[Passes, Passes]], prompts: Mapping[str, Prompt], salt: str) -> list[Question]:
    """What is to be scored of a block.

    ``table`` has the reference's and the candidate's passes of the prompts that were kept, ``salt`` varies the choice
    among too many.
    """
    names = [prompt for prompt, (reference, _) in table.items() if _free(prompts[prompt]) and _short(reference)]
    random.Random(f"{salt}/scoring").shuffle(names)
    asked: list[Question] = []
    parted = own = 0
    for name in names:
        sides = pairs(*table[name])
        if sides is None or not sides[1]:
            continue
        found = _parted([*sides[0], *sides[1]])
        if found and parted < SCORED_PROMPTS:
            parted += 1
            asked.extend(found)
        elif not found and own < OWN_OUTPUTS:
            own += 1
            asked.append(Question(table[name][0][0]))
    return asked


def _free(prompt: Prompt) -> bool:
    """Whether the model's choice was free: a grammar rules tokens out, which scoring does not know of."""
    return prompt.wants.json_schema is None and not prompt.wants.tools


def _short(reference: Passes) -> bool:
    """Whether the prompt is no longer than what an engine can be asked to tell the log-probabilities of in passing."""
    received = reference[0].received if 0 in reference else None
    usage = received.usage if received is not None else None
    return usage is None or (usage.prompt_tokens or 0) <= LONGEST


def _parted(compared: Iterable[Pair]) -> list[Question]:
    """The outputs that part, each once however often it came, from the first place at which any of them parts."""
    found: dict[object, Question] = {}
    for judged, other in compared:
        divergence = first_divergence(judged, other)
        if divergence is None:
            continue
        output = output_of(judged) or judged.key
        start = divergence.index if divergence.unit == "token" else 0
        known = found.get(output)
        found[output] = Question(judged, start) if known is None else Question(known.exchange, min(start, known.start))
    return list(found.values())
