"""Regret against margins: foreign tokens planted where the margin is tiny, and benign flips of near-ties.

    python -m benchmarks.regret [--each 200] [--lm-head bf16]

A healthy simulated pair answers the same prompts at concurrency 8. Benign are the candidate's outputs that leave the
reference's. Planted are the reference's outputs with one token, where the two best were nearly equal, taken from
another prompt's output. All are scored by the reference through ``prompt_logprobs``, and triaged by regret, by the
alternatives that were returned, and by margins alone. The bands come from the reference against itself in another
order: the cases under test have no part in them.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import anyio

from fuzzer.history.records import Done, Exchange, Prompt, Received, Sent
from fuzzer.oracles.divergence import Divergence, band_of, first_divergence, severity
from fuzzer.oracles.regret import CLEARANCE, Regrets, regrets
from fuzzer.plan import Endpoint
from fuzzer.prompts import PromptPool
from fuzzer.sim.config import SimConfig
from fuzzer.sim.process import SimServer
from fuzzer.wire.client import Client
from fuzzer.wire.dialects import dialect_for
from fuzzer.wire.params import Params
from fuzzer.wire.scoring import Scorer

CONCURRENCY = 8
TINY = 0.1  # nats between the two best where a swap is planted
_MOST = 4000  # prompts
_PARAMS = Params(max_tokens=256, stream=False, logprobs=5)


@dataclass(frozen=True, slots=True)
class Case:
    """One output that leaves the reference's: where, and what the reference thinks of it."""

    divergence: Divergence
    regrets: Regrets


@dataclass(frozen=True, slots=True)
class Table:
    """The cases; the reference's own outputs scored by itself, and where it strays from itself: these calibrate."""

    planted: list[Case]
    benign: list[Case]
    own: list[Regrets]
    floor: list[Case]

    def material(self, cases: Sequence[Case], way: str, lm_head: str) -> int:
        """How many cases one way of triage calls material."""
        if way == "regret":
            own = [output.worst for output in self.own if output.not_best]
            floor = [max(case.regrets.worst, case.divergence.gap or 0) for case in self.floor]
            band = band_of([*own, *floor], lm_head, CLEARANCE)
            return sum(case.regrets.triage(band) == "material" for case in cases)
        band = band_of([gap for case in self.floor if (gap := _gap(case.divergence, way)) is not None], lm_head)
        return sum(
            (gap := _gap(case.divergence, way)) is not None and severity(gap, band) == "material" for case in cases
        )


WAYS = ("regret", "alternatives", "smaller margin", "reference's margin")


def _gap(divergence: Divergence, way: str) -> float | None:
    return {
        "alternatives": divergence.gap,
        "smaller margin": divergence.margin,
        "reference's margin": divergence.right.margin,
    }[way]


async def ask_all(client: Client, prompts: Sequence[Prompt]) -> dict[str, Received]:
    """All answers, with so many in flight."""
    answers: dict[str, Received] = {}
    waiting = iter(prompts)

    async def work() -> None:
        for prompt in waiting:
            answers[prompt.id] = await client.ask(prompt.messages, _PARAMS)

    async with anyio.create_task_group() as tasks:
        for _ in range(CONCURRENCY):
            tasks.start_soon(work)
    return answers


def exchange(prompt: str, received: Received) -> Exchange:
    """An answer as the oracles take it."""
    sent = Sent(
        key=prompt, arm="candidate", endpoint="sim", cell="cell", phase="calibration", block=0, index=0, prompt=prompt,
        concurrency=CONCURRENCY, exposure=0, logprobs=True, max_tokens=256, sent_ns=0, in_flight=CONCURRENCY,
    )  # fmt: skip
    return Exchange(sent=sent, done=Done(key=prompt, min_in_flight=1, max_in_flight=CONCURRENCY, received=received))


def swapped(own: Received, donor: Received, rng: random.Random) -> Received | None:
    """One token of another answer in place of an own one, where the two best are nearly equal; None if nowhere."""
    entries, others = own.logprobs or (), donor.logprobs or ()
    places = [
        place
        for place, (entry, other) in enumerate(zip(entries, others, strict=False))
        if entry.margin is not None and entry.margin <= TINY and other.token not in [token for token, _ in entry.top]
    ]
    if not places or own.token_ids is None or donor.token_ids is None:
        return None
    place = rng.choice(places)
    foreign = donor.token_ids[place]
    row = entries[place].model_copy(update={"token": others[place].token, "id": foreign, "logprob": None})
    return own.model_copy(
        update={
            "token_ids": (*own.token_ids[:place], foreign, *own.token_ids[place + 1 :]),
            "logprobs": (*entries[:place], row, *entries[place + 1 :]),
        }
    )


async def measure(each: int, lm_head: str, seed: int = 0, batch: int = 96) -> Table:
    """Ask ``batch`` prompts at a time and plant, until there are so many cases of each kind."""
    pool, rng, table = PromptPool(seed), random.Random(seed), Table([], [], [], [])
    async with (
        SimServer(SimConfig(lm_head=lm_head, step_seconds=0)) as one,
        SimServer(SimConfig(lm_head=lm_head, speculative=True, step_seconds=0)) as other,
    ):
        dialect = dialect_for("vllm")
        reference, candidate = (
            Endpoint(name=name, url=server.url, model="sim-model")
            for name, server in (("reference", one), ("candidate", other))
        )
        async with (
            Client(reference, dialect, timeout=60) as theirs,
            Client(candidate, dialect, timeout=60) as ours,
            Scorer(reference, dialect, params=_PARAMS, timeout=60) as scorer,
        ):
            start = 0
            while min(len(table.planted), len(table.benign)) < each and start < _MOST:
                prompts = [pool.prompt(index) for index in range(start, start + batch)]
                start += batch
                first = await ask_all(theirs, prompts)
                turned = await ask_all(theirs, prompts[::-1])
                drafted = await ask_all(ours, prompts)
                for prompt, donor in zip(prompts, prompts[1:] + prompts[:1], strict=True):
                    own = first[prompt.id]
                    table.own.append(await _scored(scorer, prompt, own))
                    for answer, cases in (
                        (swapped(own, first[donor.id], rng), table.planted),
                        (drafted[prompt.id], table.benign),
                        (turned[prompt.id], table.floor),
                    ):
                        cases.extend(await _case(scorer, prompt, answer, own))
    return Table(table.planted[:each], table.benign[:each], table.own, table.floor)


async def _case(scorer: Scorer, prompt: Prompt, answer: Received | None, own: Received) -> list[Case]:
    """The case that an answer is, if it leaves the reference's own."""
    if answer is None:
        return []
    divergence = first_divergence(exchange(prompt.id, answer), exchange(prompt.id, own))
    return [Case(divergence, await _scored(scorer, prompt, answer))] if divergence is not None else []


async def _scored(scorer: Scorer, prompt: Prompt, received: Received) -> Regrets:
    scored = await scorer.score(prompt.messages, received.token_ids or ())
    if scored.detail:
        raise SystemExit(f"the reference could not score: {scored.detail}")
    return regrets(scored.tokens)


def report(table: Table, lm_head: str) -> None:
    """Print how many of each kind every way calls material."""
    planted, benign = len(table.planted), len(table.benign)
    print(
        f"lm_head {lm_head}: {planted} foreign tokens planted where the margin was at most {TINY} nats, {benign} benign"
    )
    print(f"divergences; bands from {len(table.floor)} of the reference from itself. Called material by")
    for way in WAYS:
        hits, alarms = (table.material(cases, way, lm_head) for cases in (table.planted, table.benign))
        print(f"  {way:20} {hits:4} of {planted} planted   {alarms:4} of {benign} benign")
    least = min(case.regrets.worst for case in table.planted)
    most = max(case.regrets.worst for case in table.benign)
    ties = 1000 * sum(output.ties for output in table.own) / sum(output.tokens for output in table.own)
    print(
        f"  smallest planted regret {least:.2f} nats, largest benign {most:.2f}; {ties:.1f} exact ties in 1000 tokens"
    )


def main() -> None:
    """Parse the arguments, measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--each", type=int, default=200)
    parser.add_argument("--lm-head", default="bf16")
    arguments = parser.parse_args()
    report(anyio.run(partial(measure, arguments.each, arguments.lm_head)), arguments.lm_head)


if __name__ == "__main__":
    main()
