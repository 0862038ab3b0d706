"""How many judged answers a claim takes, how long they take, and what a gate of that size would see.

Nothing is contacted: these are the sizes that ``gate`` uses, worked out beforehand.
"""

from __future__ import annotations

from dataclasses import dataclass

from fuzzer.decisions import SIGNIFICANT, sequential_test
from fuzzer.errors import UsageError
from fuzzer.plan import Policy
from fuzzer.shapes import BLOCK_FLOOR
from fuzzer.stats import Ending, FixedTest, detection_chance, fixed_test, mcnemar_pairs, requests_needed

_FAILURES_SHOWN = 4
_LARGEST_CAP = 200_000  # answers; beyond, working out how the sequential test ends takes more than seconds


@dataclass(frozen=True, slots=True)
class Question:
    """What is to be shown. Rates are shares from 0 to 1; ``speed`` is in answers per second, all arms together."""

    max_wrong_rate: float = 0.01
    confidence: float = 0.95
    cells: int = 2
    arms: int = 2
    speed: float | None = None
    true_rate: float = 0.05

    def __post_init__(self) -> None:
        if not 0 < self.max_wrong_rate < 0.5:
            raise UsageError("--max-wrong-rate: a rate over 0 % and under 50 %, for example --max-wrong-rate 0.3%")
        if not 0.5 < self.confidence < 1:
            raise UsageError("--confidence: over 50 % and under 100 %, for example --confidence 95%")
        if self.cells < 1:
            raise UsageError("--cells: at least 1, for example --cells 2")
        if self.speed is not None and not self.speed > 0:
            raise UsageError("--rate: answers per second, more than 0, for example --rate 12")
        if not 0 < self.true_rate < 1:
            raise UsageError("--true-rate: a rate over 0 % and under 100 %, for example --true-rate 7%")


@dataclass(frozen=True, slots=True)
class Cost:
    """Answers in all cells and arms, and the seconds they take where the speed is known."""

    answers: int
    seconds: float | None


@dataclass(frozen=True, slots=True)
class Fate:
    """How the sequential test of one cell ends where this is the true failure rate; ``answers`` is the median."""

    true_rate: float
    passes: float
    fails: float
    open: float
    answers: int


@dataclass(frozen=True, slots=True)
class Sequential:
    """The gate's sequential test: its rates and errors, the clean cell's answers (whole blocks), the cap, the cost."""

    p0: float
    p1: float
    alpha: float
    beta: float
    clean: int
    cap: int
    cost: Cost
    fates: tuple[Fate, ...]


@dataclass(frozen=True, slots=True)
class Sizes:
    """The answer to a `Question`.

    ``clean`` answers a cell rule the rate out if none fails, ``allowing`` maps failures to answers where some do.
    ``two_sided`` is the fixed test with the sequential test's errors. ``seen`` is the chance that ``clean`` answers
    show at least one failure at the true rate, ``pairs`` how many pairs show a candidate of that rate to be worse than
    a reference that never fails (one-sided McNemar under 0.01, with the asked-for confidence).
    """

    question: Question
    clean: int
    cost: Cost
    allowing: dict[int, int]
    two_sided: FixedTest
    sequential: Sequential
    seen: float
    pairs: int


def size(question: Question) -> Sizes:
    """Work out the sizes."""
    limit, confidence = question.max_wrong_rate, question.confidence
    clean = requests_needed(limit, confidence)
    sequential = _sequential(question)
    return Sizes(
        question=question,
        clean=clean,
        cost=_cost(question, clean),
        allowing={k: requests_needed(limit, confidence, k) for k in range(1, _FAILURES_SHOWN)},
        two_sided=fixed_test(sequential.p0, sequential.p1, sequential.alpha, sequential.beta),
        sequential=sequential,
        seen=detection_chance(clean, question.true_rate),
        pairs=mcnemar_pairs(question.true_rate, 0.0, SIGNIFICANT, confidence),
    )


def _cost(question: Question, answers: int) -> Cost:
    total = answers * question.cells * question.arms
    return Cost(total, total / question.speed if question.speed else None)


def _sequential(question: Question) -> Sequential:
    policy = Policy(max_wrong_rate=question.max_wrong_rate, confidence=question.confidence)
    test = sequential_test(policy, question.cells)
    clean = -(-test.clean_size // BLOCK_FLOOR) * BLOCK_FLOOR
    rates = sorted({0.0, test.p0, 3 * test.p0, test.p1, question.true_rate}) if test.cap <= _LARGEST_CAP else []
    return Sequential(
        p0=test.p0,
        p1=test.p1,
        alpha=test.alpha,
        beta=test.beta,
        clean=clean,
        cap=test.cap,
        cost=_cost(question, clean),
        fates=tuple(_fate(rate, test.ending(rate, BLOCK_FLOOR)) for rate in rates),
    )


def _fate(rate: float, ending: Ending) -> Fate:
    return Fate(rate, ending.passes, ending.fails, ending.open, ending.median_n)


def describe(sizes: Sizes) -> list[str]:
    """The sizes in sentences, a line each, and the table of the sequential test."""
    asked, test = sizes.question, sizes.sequential
    more = ", ".join(f"{n} with {k}" for k, n in sizes.allowing.items())
    lines = [
        f"To rule out a failure rate of {percent(asked.max_wrong_rate)} at {percent(asked.confidence)} (one-sided) you "
        f"need {sizes.clean} judged answers a cell, if none fails ({more} failures).",
        f"  {_spent(asked, sizes.cost)}",
        f"The gate's sequential test (p0 = {percent(test.p0)}, p1 = {percent(test.p1)}, errors {percent(test.alpha)} "
        f"and {percent(test.beta)} a cell): a clean cell passes after {test.clean} answers, in blocks of "
        f"{BLOCK_FLOOR}; an open one is cut at {test.cap}.",
        f"  {_spent(asked, test.cost)} A fixed test with the same errors takes {sizes.two_sided.n} answers a cell.",
        *_table(test),
        f"A true rate of {percent(asked.true_rate)}: {sizes.clean} answers show it at least once with a chance of "
        f"{percent(sizes.seen)}; {sizes.pairs} pairs show it to be worse than a reference that never fails "
        f"(McNemar in one cell, p < {SIGNIFICANT:g}, chance {percent(asked.confidence)}).",
        "These are judged answers. Calibration comes on top: gate --dry-run counts every request.",
    ]
    return [line for line in lines if line]


def share(option: str, text: str) -> float:
    """A share from 0 to 1 from a text such as ``0.3%`` or ``0.003``; UsageError names the option."""
    number, sign = text.strip().removesuffix("%"), text.strip().endswith("%")
    try:
        value = float(number) / (100 if sign else 1)
    except ValueError:
        raise UsageError(f"{option}: {text!r} is not understood; write for example {option} 1%") from None
    return value


def percent(value: float) -> str:
    """A share as a percentage with as many digits as it takes; no chance short of certainty is shown as 100 %."""
    return "over 99.99 %" if 0.9999 < value < 1 else f"{round(100 * value, 10):.4g} %"


def _spent(question: Question, cost: Cost) -> str:
    arms = " and both arms" if question.arms == 2 else ""
    time = f"; at {question.speed:g}/s that is {duration(cost.seconds)}" if cost.seconds is not None else ""
    return f"For {question.cells} cell{'s' * (question.cells > 1)}{arms}: {cost.answers} answers{time}."


def duration(seconds: float) -> str:
    """Seconds as a person says them."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _table(test: Sequential) -> list[str]:
    if not test.fates:
        return ["  (how it ends at each true rate is not worked out for so small a rate)"]
    rows = [
        f"  {percent(fate.true_rate):>10}  {fate.passes:8.1%}  {fate.fails:8.1%}  {fate.open:8.1%}  {fate.answers:7}"
        for fate in test.fates
    ]
    return ["   true rate    passes     fails      open  answers (median)", *rows]
