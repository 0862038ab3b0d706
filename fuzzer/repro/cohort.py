"""A cohort: the requests that it takes for one of them to fail, with their timing; what is replayed and shrunk.

It is a schedule like any other, beside the prompts that it sends, the requests whose answers count, and what the
reference answered where that is known.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Self

from pydantic import ValidationError, model_validator

from fuzzer.history.messages import Record
from fuzzer.history.records import Prompt, Received
from fuzzer.history.schedule import Release, Send
from fuzzer.plan import Sampling

Chain = tuple[Send, ...]


class Cohort(Record):
    """Requests in the order of the schedule; ``judged`` are the places of those whose answers count.

    ``victim`` is the place of the one that was found to be harmed. ``shares`` says for each judged one in which share
    of replays, from 0 to 1, it fails in the whole cohort, where that is known. ``right`` holds the reference's reply to
    each request, None where it is not known. ``logprobs`` says whether all ask for log-probabilities. With
    ``fresh_cache`` each replay has a salt of its own: what it sends is new to the engine's prefix cache, where the
    engine knows salts, and shared within the replay.
    """

    releases: tuple[Release, ...]
    prompts: tuple[Prompt, ...]
    victim: int
    judged: tuple[int, ...]
    right: tuple[Received | None, ...]
    sampling: Sampling = Sampling()
    logprobs: bool = False
    fresh_cache: bool = True
    shares: tuple[float, ...] = ()

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        sends = self.sends
        known = {prompt.id for prompt in self.prompts}
        if unknown := sorted({send.prompt for send in sends} - known):
            raise ValueError(f"the prompt {unknown[0]!r} is not in it")
        if len(self.right) != len(sends):
            raise ValueError(f"{len(self.right)} replies of the reference to {len(sends)} requests")
        if silent := [prompt.id for prompt in self.prompts if not prompt.messages]:
            raise ValueError(f"the prompt {silent[0]!r} has no messages")
        if len(set(self.judged)) < len(self.judged):
            raise ValueError("a request is judged twice")
        if self.shares and len(self.shares) != len(self.judged):
            raise ValueError("the shares do not belong to those that are judged")
        if not all(0 <= share <= 1 for share in self.shares):
            raise ValueError("a share outside 0 to 1")
        if self.victim not in self.judged:
            raise ValueError("the victim is not among those that are judged")
        for place in self.judged:
            if not 0 <= place < len(sends) or sends[place].role != "victim":
                raise ValueError(f"the request {place} cannot be judged")
        return self

    @property
    def sends(self) -> tuple[Send, ...]:
        """All requests, release by release and slot by slot."""
        return tuple(send for release in self.releases for send in release.sends)

    @property
    def size(self) -> int:
        """How many requests it takes."""
        return len(self.right)

    @property
    def width(self) -> int:
        """The most that are in flight at once."""
        return max(release.width for release in self.releases)

    @property
    def asked(self) -> dict[str, Prompt]:
        """The prompts by id."""
        return {prompt.id: prompt for prompt in self.prompts}

    @property
    def chains(self) -> tuple[tuple[int, ...], ...]:
        """The places of the requests of each slot of each release."""
        return tuple(places for _, places in self._slots())

    @property
    def rounds(self) -> tuple[tuple[int, ...], ...]:
        """The places of the requests of each release."""
        grouped: dict[int, list[int]] = {}
        for release, places in self._slots():
            grouped.setdefault(release, []).extend(places)
        return tuple(map(tuple, grouped.values()))

    def _slots(self) -> Iterator[tuple[int, tuple[int, ...]]]:
        place = 0
        for number, release in enumerate(self.releases):
            for chain in release.chains:
                yield number, tuple(range(place, place + len(chain)))
                place += len(chain)

    def salted(self, salt: str) -> tuple[Release, ...]:
        """The releases as one replay sends them: with this salt before each one's own, if the cache is to be fresh."""
        if not self.fresh_cache:
            return self.releases
        return tuple(
            release.model_copy(
                update={"chains": tuple(tuple(_salted(send, salt) for send in chain) for chain in release.chains)}
            )
            for release in self.releases
        )

    def only(self, places: set[int]) -> Cohort | None:
        """The same with these requests alone; None where they make no schedule. The victim always stays."""
        kept = places | {self.victim}
        order = [place for place in range(self.size) if place in kept]
        layout = iter(range(self.size))
        releases = [
            [chain for chain in ([send for send in chain if next(layout) in kept] for chain in release.chains) if chain]
            for release in self.releases
        ]
        return self._rebuilt(releases, order)

    def changed(self, change: dict[int, Send], **fields: object) -> Cohort | None:
        """The same with other requests at some places; ``fields`` replace the cohort's own. None if it cannot be."""
        layout = iter(range(self.size))
        releases = [
            [[change.get(place, send) for send in chain for place in [next(layout)]] for chain in release.chains]
            for release in self.releases
        ]
        return self._rebuilt(releases, list(range(self.size)), **fields)

    def _rebuilt(self, releases: list[list[list[Send]]], order: list[int], **fields: object) -> Cohort | None:
        places = {old: new for new, old in enumerate(order)}
        try:
            made = [_release(chains) for chains in _settled(releases)]
            sends = [send for release in made for send in release.sends]
            given: dict[str, object] = {
                "releases": tuple(made),
                "victim": places[self.victim],
                "judged": tuple(places[place] for place in self.judged if place in places),
                "right": tuple(self.right[old] for old in order),
                "prompts": self.prompts,
                "sampling": self.sampling,
                "logprobs": self.logprobs,
                "fresh_cache": self.fresh_cache,
            } | fields
            given["shares"] = self._shares(given["judged"], order)
            prompts = given["prompts"]
            asked = {send.prompt for send in sends}
            if isinstance(prompts, tuple):
                given["prompts"] = tuple(prompt for prompt in prompts if prompt.id in asked)
            return Cohort.model_validate(given)
        except ValidationError:
            return None

    def _shares(self, judged: object, order: list[int]) -> tuple[float, ...]:
        """The shares of those that are judged still, by their new places."""
        known = dict(zip(self.judged, self.shares, strict=False))
        places = judged if isinstance(judged, tuple) else ()
        return tuple(known.get(order[place], 0.0) for place in places) if known else ()


def _settled(releases: list[list[list[Send]]]) -> list[list[list[Send]]]:
    """Every release with somebody who can be judged: a request is made one, or the release goes with the next."""
    settled: list[list[list[Send]]] = []
    carried: list[list[Send]] = []
    for chains in releases:
        chains, carried = [*carried, *chains], []
        if not chains:
            continue
        if any(send.role == "victim" for chain in chains for send in chain) or _promote(chains):
            settled.append(chains)
        else:
            carried = chains
    if carried and settled:
        settled[-1] = [*settled[-1], *carried]
    return settled


def _promote(chains: list[list[Send]]) -> bool:
    for chain in chains:
        for place, send in enumerate(chain):
            if (judged := as_victim(send)).role == "victim":
                chain[place] = judged
                return True
    return False


def _salted(send: Send, salt: str) -> Send:
    own = f"{salt}/{send.overrides.salt}" if send.overrides.salt else salt
    return send.model_copy(update={"overrides": send.overrides.model_copy(update={"salt": own})})


def as_victim(send: Send) -> Send:
    """The request as one that can be judged, where it is greedy, whole and not broken off; else as it is."""
    fit = send.overrides.greedy and send.overrides.n == 1 and not send.cancelled and send.turn is None
    return send.model_copy(update={"role": "victim"}) if fit else send


def _release(chains: Sequence[Sequence[Send]]) -> Release:
    """A release that drains, every chain on a slot of its own, the first at once."""
    earliest = min(chain[0].at_ms for chain in chains)
    shifted = tuple(
        (chain[0].model_copy(update={"at_ms": max(0.0, chain[0].at_ms - earliest)}), *chain[1:]) for chain in chains
    )
    return Release(width=len(shifted), chains=shifted)
