"""The divergence policy on real GPU outputs of a healthy engine, and on the same with swapped tokens planted.

    python -m benchmarks.h200 [--share 0.02] [--seed 0]

Every speculative run is judged against its own lm_head's reference at the same concurrency, by the code that judges a
gate: first divergences, band and noise floor of the reference's own passes, one-sided McNemar with Holm. Beside it
stands the verdict of an equality gate, which wants all outputs to be the same.
"""

from __future__ import annotations

import argparse
import json
import lzma
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

from fuzzer.decisions import SIGNIFICANT, beyond_floor
from fuzzer.history.records import Arm, Done, Exchange, Received, Sent, TokenLogprob
from fuzzer.judge.floor import Floor
from fuzzer.oracles.divergence import ALONE
from fuzzer.summary import NoiseFloor

DATA = Path(__file__).parents[1] / "tests" / "data" / "h200" / "outputs.json.xz"
HEADS = {"fp32": "fp32", "bf16": "bf16", "nvfp4w": "w4a16", "fp8": "fp8", "nvfp4": "nvfp4", "bitri": "bf16"}
"""The heads in the data, and what a user would call them."""

LEVELS = (8, 32)
CLEAR = 2.0  # nats: rounding flips no token of such a margin


@dataclass(frozen=True, slots=True)
class Output:
    """One output: token ids, and the margin of each (nats)."""

    ids: tuple[int, ...]
    margins: tuple[float, ...]


class Swap(NamedTuple):
    """A token of another prompt's output in place of an output's own."""

    place: int
    token: int


@cache
def runs() -> dict[str, tuple[Output, ...]]:
    """All runs by name, for instance ``bf16-ngram c8b``: one output a prompt, in the order of the prompts."""
    data = json.loads(lzma.decompress(DATA.read_bytes()))
    first: dict[str, list[list[int]]] = {}
    table: dict[str, tuple[Output, ...]] = {}
    for place, (name, run) in enumerate(data["runs"].items()):
        base = first.setdefault(name.split("-")[0], run["ids"])
        outputs = []
        for prompt, (shared, rest) in enumerate(zip(run["shared"], run["ids"], strict=True)):
            ids = rest if base is run["ids"] else base[prompt][:shared] + rest
            outputs.append(Output(tuple(ids), tuple(data["margins"][prompt][place])))
        table[name] = tuple(outputs)
    return table


def differing(left: str, right: str) -> int:
    """How many prompts have other token ids in one run than in another: what an equality gate counts."""
    return sum(a.ids != b.ids for a, b in zip(runs()[left], runs()[right], strict=True))


def exchange(output: Output, prompt: int, arm: Arm, pass_index: int, level: int, swap: Swap | None = None) -> Exchange:
    """An output as a recorded calibration exchange; a swap leaves the log-probabilities of its row as they were."""
    sent = Sent(
        key=f"{arm}/{pass_index}/{prompt}", arm=arm, endpoint=arm, cell="cell", phase="calibration", block=0,
        pass_index=pass_index, index=prompt, prompt=f"p{prompt}", concurrency=1 if pass_index == ALONE else level,
        exposure=pass_index, logprobs=True, max_tokens=96, sent_ns=0, in_flight=level,
    )  # fmt: skip
    ids, entries = list(output.ids), [_entry(*pair) for pair in zip(output.ids, output.margins, strict=True)]
    if swap is not None:
        ids[swap.place] = swap.token
        told = {"token": _text(swap.token), "id": swap.token, "logprob": None}
        entries[swap.place] = entries[swap.place].model_copy(update=told)
    received = Received(
        outcome="ok", text="".join(map(_text, ids)), finish_reason="stop", token_ids=tuple(ids),
        logprobs=tuple(entries), end_ns=1,
    )  # fmt: skip
    return Exchange(sent=sent, done=Done(key=sent.key, min_in_flight=1, max_in_flight=level, received=received))


@cache
def _entry(token: int, margin: float) -> TokenLogprob:
    """The runner-up's name was not recorded."""
    top = ((_text(token), -0.1), ("(another)", -0.1 - margin))
    return TokenLogprob(token=_text(token), id=token, logprob=-0.1, top=top)


def _text(token: int) -> str:
    return f"<{token}>"


def pairs() -> list[tuple[str, str, int, tuple[str, ...]]]:
    """Every (head, speculation, level, tags) that was run with speculation and without."""
    return [
        (head, speculation, level, tags)
        for head in HEADS
        for speculation in ("ngram", "draft")
        for level in LEVELS
        if (tags := tuple(tag for tag in (f"c{level}", f"c{level}b") if f"{head}-{speculation} {tag}" in runs()))
    ]


def floor_of(
    head: str, speculation: str, level: int, swaps: Mapping[tuple[str, int], Swap] | None = None
) -> NoiseFloor:
    """The noise floor of one pair at one level, as a gate computes it; ``swaps`` are by (tag, prompt)."""
    tags = (f"c{level}", f"c{level}b")
    floor = Floor()
    for prompt in range(len(runs()[f"{head}-none c1"])):
        reference = {
            index: exchange(runs()[f"{head}-none {tag}"][prompt], prompt, "reference", index, level)
            for index, tag in ((0, tags[0]), (1, tags[1]), (ALONE, "c1"))
        }
        candidate = {
            index: exchange(runs()[name][prompt], prompt, "candidate", index, level, (swaps or {}).get((tag, prompt)))
            for index, tag in enumerate(tags)
            if (name := f"{head}-{speculation} {tag}") in runs()
        }
        floor.add(reference, candidate)
    return floor.noise_floor(HEADS[head])


def plant(head: str, speculation: str, tags: Sequence[str], share: float, seed: int = 0) -> dict[tuple[str, int], Swap]:
    """Swaps in this share of the outputs, each in another prompt, where both sides agree with a clear margin."""
    rng = random.Random(f"{seed} {head} {speculation} {tags}")
    ours = {tag: runs()[f"{head}-{speculation} {tag}"] for tag in tags}
    theirs = {tag: runs()[f"{head}-none {tag}"] for tag in tags}
    count = len(ours[tags[0]])
    swaps: dict[tuple[str, int], Swap] = {}
    for prompt in rng.sample(range(count), count):
        tag = tags[len(swaps) % len(tags)]
        swap = _swap(ours[tag][prompt], theirs[tag][prompt], ours[tag][(prompt + 1) % count], rng)
        if swap is not None:
            swaps[tag, prompt] = swap
        if len(swaps) >= share * count * len(tags):
            break
    return swaps


def _swap(own: Output, reference: Output, donor: Output, rng: random.Random) -> Swap | None:
    places = []
    for place, (token, other, swapped) in enumerate(zip(own.ids, reference.ids, donor.ids, strict=False)):
        if token != other:
            break
        if swapped != token and min(own.margins[place], reference.margins[place]) > CLEAR:
            places.append(Swap(place, swapped))
    return rng.choice(places) if places else None


@dataclass(frozen=True, slots=True)
class Row:
    """One pair at one level: as it is, with swaps planted, and what an equality gate counts."""

    head: str
    speculation: str
    level: int
    outputs: int
    differ: int
    swaps: int
    clean: NoiseFloor
    planted: NoiseFloor


def judged(share: float, seed: int = 0) -> list[Row]:
    """Every pair, judged clean and planted, with Holm over the levels of one candidate."""
    rows: list[Row] = []
    for head, speculation in dict.fromkeys((head, speculation) for head, speculation, _, _ in pairs()):
        levels = [(level, tags) for h, s, level, tags in pairs() if (h, s) == (head, speculation)]
        swaps = [plant(head, speculation, tags, share, seed) for _, tags in levels]
        clean = _tested([floor_of(head, speculation, level) for level, _ in levels])
        dirty = _tested(
            [floor_of(head, speculation, level, own) for (level, _), own in zip(levels, swaps, strict=True)]
        )
        for (level, tags), planted, before, after in zip(levels, swaps, clean, dirty, strict=True):
            differ = sum(differing(f"{head}-{speculation} {tag}", f"{head}-none {tag}") for tag in tags)
            outputs = sum(len(runs()[f"{head}-{speculation} {tag}"]) for tag in tags)
            rows.append(Row(head, speculation, level, outputs, differ, len(planted), before, after))
    return rows


def _tested(floors: Sequence[NoiseFloor]) -> list[NoiseFloor]:
    return [
        floor.model_copy(update={"p": p, "p_adjusted": adjusted})
        for floor, (p, adjusted) in zip(floors, beyond_floor(floors), strict=True)
    ]


def broken(floor: NoiseFloor) -> bool:
    """Whether the policy fails a gate for this."""
    return floor.p_adjusted is not None and floor.p_adjusted < SIGNIFICANT


def main() -> None:
    """Parse the arguments and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--share", type=float, default=0.02)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    print("                                equality          as it is                     with swaps planted")
    print("candidate       N  outputs  differ  gate      band  material         p  policy", end="")
    print("  swaps  material         p  policy")
    for row in judged(arguments.share, arguments.seed):
        print(
            f"{row.head + ' ' + row.speculation:12}  {row.level:3}  {row.outputs:7}  {row.differ:6}"
            f"  {'FAIL' if row.differ else 'pass':8}  {row.clean.band_material:4.2f}  {_policy(row.clean)}"
            f"  {row.swaps:5}  {_policy(row.planted)}"
        )


def _policy(floor: NoiseFloor) -> str:
    return f"{floor.b:3} v {floor.c:<2}  {floor.p_adjusted or 0:8.2g}  {'FAIL' if broken(floor) else 'pass':6}"


if __name__ == "__main__":
    main()
