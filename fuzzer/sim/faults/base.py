"""What a plantable fault is: its description, its draw, and the hooks through which it acts in one engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from fuzzer.sim.draws import fingerprint, uniforms

if TYPE_CHECKING:
    from fuzzer.sim.engine import Engine, Request
    from fuzzer.sim.logits import Batch
    from fuzzer.sim.scheduler import Step
    from fuzzer.sim.sequence import Limits, Script
    from fuzzer.sim.sequence import Sequence as Running


USUAL = 8  # the concurrency at which faults are looked for unless they need another
ANY = "any request"  # the trigger of a fault that needs none


class Planted(NamedTuple):
    """A harm done: the fault, the id of the request that it befell, and that of the one whose content it got."""

    fault: str
    victim: str
    donor: str


class Plant:
    """One fault in one engine. The engine calls these hooks; by default nothing happens.

    A plant knows what an engine knows: sequences, pages, rows, counts. It never sees who asks or why.
    """

    def __init__(self, name: str, engine: Engine) -> None:
        self.name = name
        self.engine = engine

    def strikes(self, request: Request) -> bool:
        """Whether this request was drawn for the fault."""
        return self.name in request.draw

    def acted(self, request: Request, donor: Request | None = None) -> None:
        """Note that a request was harmed, and whose content it got: what a measurement of detection compares with."""
        self.engine.planted.append(Planted(self.name, request.id, donor.id if donor is not None else ""))

    def limits(self, request: Request, limits: Limits) -> Limits:
        """How the engine takes a request's limits, when it is submitted."""
        return limits

    def deaf(self, request: Request) -> str:
        """What the reply's parser does not hear: "calls", "thoughts" or nothing."""
        return ""

    def refuses(self, request: Request) -> bool:
        """Whether the engine answers this request with an error at once."""
        return False

    def begins(self, request: Request, script: Script) -> Script:
        """What a request's sequence will say, when it first joins the batch."""
        return script

    def joined(self, sequences: Sequence[Running]) -> None:
        """These joined the batch together, before the next step."""

    def acceptance(self, sequence: Running, batch: Batch, share: float) -> float:
        """The chance that a draft token is accepted, from 0 to 1."""
        return share

    def drafted(self, step: Step) -> None:
        """A step's tokens stand, and are not committed yet."""

    def paged(self, sequence: Running, pages: Sequence[int]) -> None:
        """A sequence was given pages."""

    def preempted(self, sequence: Running) -> None:
        """A sequence is about to lose its memory."""

    def keeps(self, sequence: Running) -> bool:
        """Whether a running sequence whose client has gone keeps its slot and its memory."""
        return False

    def left(self, sequence: Running) -> None:
        """A sequence has left the batch, finished or aborted; it still has its slot and pages."""

    def freezes(self) -> bool:
        """Whether the engine makes no steps now."""
        return False


@dataclass(frozen=True, slots=True)
class Fault:
    """A plantable fault, and how it is found.

    ``default_rate`` is the share (0 to 1) of ``rate_of`` that is drawn for it; what is drawn is harmed where its
    ``trigger`` ("" for any request) holds. ``symptom`` is the code of what users saw (see SYMPTOMS), ``report`` a
    public report that it is modelled on. A right detection shows a finding of one of ``kinds`` (kind, or kind/sub-kind)
    and the gate's ``exit_status``; where another request's content shows, ``donors`` are the ways in which a right
    donor can lie to its victim. It takes the traffic ``schedule`` ("" for any) at ``concurrency``, and at least
    ``minimum`` requests. ``families`` are the prompts that show it (empty: the usual mix does), ``lm_head`` the
    precision and ``kv_blocks`` the size of the pool with which it shows.
    """

    summary: str
    default_rate: float
    symptom: str
    report: str
    kinds: tuple[str, ...]
    plant: type[Plant] = Plant
    rate_of: str = "requests"
    trigger: str = ""
    schedule: str = ""
    concurrency: int = USUAL
    minimum: int = 1
    exit_status: int = 1
    donors: frozenset[str] = frozenset()
    families: tuple[str, ...] = ()
    lm_head: str = "bf16"
    kv_blocks: int | None = None

    @property
    def rate(self) -> str:
        """How much is drawn for it unless the user says otherwise, for people."""
        return f"{self.default_rate:.0%} of {self.rate_of}"

    @property
    def condition(self) -> str:
        """What must happen before it shows, for people."""
        return (self.trigger or ANY) + (f"; {self.minimum} requests at least" if self.minimum > 1 else "")

    @property
    def traffic(self) -> str:
        """The traffic that it takes, for people."""
        head = f", lm_head {self.lm_head}" if self.lm_head != "bf16" else ""
        pool = f", a pool of {self.kv_blocks} KV blocks" if self.kv_blocks is not None else ""
        family = f", family {', '.join(self.families)}" if self.families else ""
        return f"{self.schedule or 'any schedule'} at concurrency {self.concurrency}{head}{pool}{family}"


@dataclass(frozen=True, slots=True)
class Draw:
    """The faults that strike one request, and a source of further choices for them."""

    names: frozenset[str]
    key: bytes

    def __contains__(self, name: str) -> bool:
        return name in self.names

    def choose(self, count: int, purpose: int) -> int:
        """A choice from ``count`` possibilities; ``purpose`` tells independent choices apart."""
        return int(uniforms(self.key, purpose)[0] * count)


def draw_faults(rates: Mapping[str, float], seed: int, prompt: bytes, ordinal: int) -> Draw:
    """Which faults strike the ``ordinal``-th time (from 0) that the prompt of this fingerprint is served."""
    key = fingerprint(f"{seed}\x1f{ordinal}\x1f{prompt.hex()}") if rates else b""
    return Draw(frozenset(name for name, rate in rates.items() if _unit(key, name) < rate), key)


def strikes_server(rates: Mapping[str, float], name: str, seed: int, event: int = 0) -> bool:
    """Whether a fault of the whole server is present in this one's life, or at the ``event``-th chance in it."""
    counted = f"{seed}\x1fserver" + (f"\x1f{event}" if event else "")
    return name in rates and _unit(fingerprint(counted), name) < rates[name]


def _unit(key: bytes, name: str) -> float:
    return uniforms(key + fingerprint(name))[0]
