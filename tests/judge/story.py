"""Tells a history to a judge: prompts of the real families, replies as the test wants them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from fuzzer.history.records import Arm, Block, Counters, Done, Exchange, Phase, Prompt, Received, Sent, Stage, Usage
from fuzzer.judge import Judge
from fuzzer.judge.calibration import calibration_key
from fuzzer.manifest import Manifest
from fuzzer.oracles.divergence import ALONE
from fuzzer.plan import Cell, Endpoint, Plan, Policy
from fuzzer.prompts import PromptPool
from fuzzer.summarise import summarise
from fuzzer.summary import Summary

Reply = Received | None
Says = Callable[[Prompt, int], Reply]


def plan(policy: Policy | None = None, *, reference: bool = True, **more: object) -> Plan:
    """A plan of one candidate at 1 and 8, closed-loop."""
    return Plan.model_validate(
        {
            "candidates": (Endpoint(name="candidate", url="http://127.0.0.1:1"),),
            "references": (Endpoint(name="reference", url="http://127.0.0.1:2"),) if reference else (),
            "schedules": ("closed-loop",),
            "policy": policy or Policy(),
            **more,
        }
    )


def said(text: str, **more: object) -> Received:
    """A whole reply."""
    return Received.model_validate(
        {
            "outcome": "ok",
            "text": text,
            "finish_reason": "stop",
            "usage": Usage(completion_tokens=9),
            "end_ns": 1,
            **more,
        }
    )


def right(prompt: Prompt, _: int) -> Reply:
    """The right answer."""
    return said(prompt.answer)


def failed(prompt: Prompt, _: int) -> Reply:
    """HTTP 500."""
    return Received(outcome="server-error", http_status=500, end_ns=1)


def only(places: Sequence[int], bad: Says, otherwise: Says = right) -> Says:
    """The ``bad`` reply at these places of a block, the right answer elsewhere."""
    return lambda prompt, index: (bad if index in places else otherwise)(prompt, index)


class Story:
    """A judge, and the clock and counters of the servers it hears of; ``drafting`` is draft tokens a reply."""

    def __init__(self, told: Plan, *, drafting: float = 4.0) -> None:
        self.plan = told
        self.judge = Judge(told)
        self.pool = PromptPool(0, ("code-word", "echo"))
        self.drafting = drafting
        self._clock = itertools.count(1_000, 1_000)
        self._next = 0
        self._drafted = 0.0
        self._known: set[str] = set()
        self._by_round = 0
        self.passing = 0  # the calibration pass that is being told

    def cell(self, concurrency: int) -> Cell:
        """The plan's cell at this level."""
        return next(cell for cell in self.plan.cells() if cell.concurrency == concurrency)

    def fresh(self, count: int) -> list[str]:
        """The next prompts of the pool."""
        start, self._next = self._next, self._next + count
        return [f"p{index:06d}" for index in range(start, self._next)]

    def measure(
        self,
        concurrency: int,
        prompts: Sequence[str],
        candidate: Says = right,
        reference: Says = right,
        *,
        share: float = 1.0,
        by_round: int = 0,
    ) -> None:
        """One closed block of a cell; ``by_round`` is the size of a barrier release, 0 in a closed loop."""
        self._by_round = by_round
        cell = self.cell(concurrency)
        block = self.judge.cells[cell.key].blocks
        arms: list[tuple[Arm, Says]] = [("candidate", candidate)]
        if self.plan.references:
            arms.append(("reference", reference))
        for arm, says in arms:
            self._stage(cell.key, arm, "measure", block, 0, concurrency, prompts, says, share)
        self.judge.feed(Block(cell=cell.key, block=block, judged_prompts=tuple(prompts)))

    def leave_open(self, concurrency: int, prompts: Sequence[str], candidate: Says) -> None:
        """Exchanges of a block that no process came to close."""
        cell = self.cell(concurrency)
        block = self.judge.cells[cell.key].blocks
        self._stage(cell.key, "candidate", "measure", block, 0, concurrency, prompts, candidate, 1.0)

    def forget_counters(self) -> None:
        """The candidate's server was restarted: its counters begin anew."""
        self._drafted = 0.0

    def calibrate(
        self, concurrency: int, prompts: Sequence[str], candidate: Says = right, reference: Says = right
    ) -> None:
        """One closed calibration block."""
        key = calibration_key("candidate", None, concurrency)
        block = self.judge.calibration(key).blocks
        for pass_index in (ALONE, 0, 1):
            self.passing = pass_index
            level = 1 if pass_index == ALONE else concurrency
            self._stage(key, "candidate", "calibration", block, pass_index, level, prompts, candidate, 1.0)
            self._stage(key, "reference", "calibration", block, pass_index, level, prompts, reference, 1.0)
        self.judge.feed(Block(cell=key, block=block, judged_prompts=self.judge.keep(key, block)))

    def exchange(self, reply: Received) -> Exchange:
        """One exchange that no judge hears of."""
        prompt = self.pool.prompt(0)
        sent = Sent(
            key="k", arm="reference", endpoint="reference", cell="", phase="preflight", block=0, index=0,
            prompt=prompt.id, concurrency=1, exposure=0, max_tokens=256, sent_ns=0, in_flight=1,
        )  # fmt: skip
        return Exchange(sent=sent, done=Done(key="k", min_in_flight=1, max_in_flight=1, received=reply))

    def summary(self, **more: object) -> Summary:
        """The verdict on what was told."""
        manifest = Manifest.model_validate(
            {
                "run_id": "r",
                "started": datetime.now(UTC).isoformat(),
                "tool_version": "0",
                "python": "3",
                "plan": self.plan,
                "plan_hash": "0",
                "seed": 0,
                **more,
            }
        )
        return summarise(manifest, self.judge)

    def codes(self, **more: object) -> set[str]:
        """The codes of the reasons."""
        return {reason.code for reason in self.summary(**more).reasons}

    def _stage(
        self,
        cell: str,
        arm: Arm,
        phase: Phase,
        block: int,
        pass_index: int,
        concurrency: int,
        prompts: Sequence[str],
        says: Says,
        share: float,
    ) -> None:
        drafted = self._drafted
        for index, prompt_id in enumerate(prompts):
            prompt = self.pool.prompt(int(prompt_id[1:]))
            if prompt_id not in self._known:
                self._known.add(prompt_id)
                self.judge.feed(prompt)
            self._exchange(cell, arm, phase, block, pass_index, concurrency, index, prompt, says(prompt, index))
        before, after = (
            Counters(at_ns=0, drafts=count / 4, draft_tokens=count, accepted_tokens=count / 2)
            for count in (drafted, drafted + self.drafting * len(prompts))
        )
        if arm == "candidate":
            self._drafted += self.drafting * len(prompts)
        self.judge.feed(
            Stage(
                key=f"{cell}#{block}/{phase}{pass_index}/{arm}",
                cell=cell,
                arm=arm,
                endpoint=arm,
                phase=phase,
                block=block,
                concurrency=concurrency,
                share_at_n=share,
                min_in_flight=concurrency,
                max_in_flight=concurrency,
                seconds=1.0,
                before=before if arm == "candidate" else None,
                after=after if arm == "candidate" else None,
            )
        )

    def _exchange(
        self,
        cell: str,
        arm: Arm,
        phase: Phase,
        block: int,
        pass_index: int,
        concurrency: int,
        index: int,
        prompt: Prompt,
        reply: Reply,
    ) -> None:
        key = f"{cell}#{block}/{phase}{pass_index}/{arm}/{index}"
        sent = Sent(
            key=key,
            arm=arm,
            endpoint=arm,
            cell=cell,
            phase=phase,
            block=block,
            pass_index=pass_index,
            index=index,
            round=index // self._by_round if self._by_round else None,
            prompt=prompt.id,
            concurrency=concurrency,
            exposure=0,
            max_tokens=256,
            sent_ns=next(self._clock),
            in_flight=concurrency,
        )
        self.judge.feed(sent)
        if reply is not None:
            received = reply.model_copy(update={"end_ns": next(self._clock)})
            self.judge.feed(Done(key=key, min_in_flight=concurrency, max_in_flight=concurrency, received=received))
