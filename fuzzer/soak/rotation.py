"""What a soak sends next: seeds, schedules and families by a stated plan, more of it where findings appear.

The first leg, and one every ``anchor_seconds`` after, is the *anchor*: always the same prompts, in a closed loop at the
highest level, so that a change over the night is the server's and not the prompts'. All other legs have a seed of their
own. Of those, at most every second goes where findings have appeared (the arm with the highest share of legs with one,
(hits + 1) / (legs + 2)); the others go through all arms, schedule x concurrency, in an order shuffled anew each time
round. A leg is as large as what the servers answer in five minutes, by how long the last one took and by what traffic
it has, from 16 to 64 judged answers; the anchor has 32.
Everything follows from the plan, its seed and the legs so far.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence

from fuzzer.night import Leg, Purpose, Why
from fuzzer.plan import Plan, Policy, ScheduleName
from fuzzer.prompts.families import FAMILIES
from fuzzer.shapes import SHAPES
from fuzzer.soak.ledger import Choice
from fuzzer.stats import rule_out

LEG_REQUESTS = (16, 64)  # judged answers of a leg's gated cell: fewer do not cover its fixed cost, more last too long
LEG_SECONDS = 300.0  # that a leg should take
CALIBRATION = 4.0  # requests at one end that calibration takes for each judged answer, about
LEG_CONTROL = 24  # judged answers of its control at most, which acceptance is compared with
ANCHOR_REQUESTS = 32
WINDOW = 8  # families in a leg
ANCHOR_SCHEDULE: ScheduleName = "closed-loop"

Arm = tuple[ScheduleName, int]


def leg_plan(choice: Choice, base: Plan, seconds: float | None) -> Plan:
    """A leg's own plan; ``seconds`` is the most it may take, None for no limit."""
    level = base.p50_concurrency if base.p50_concurrency in (1, choice.concurrency) else None
    return base.model_copy(
        update={
            "seed": choice.seed,
            "schedules": (choice.schedule,),
            "concurrency": (choice.concurrency,),
            "families": choice.families,
            "policy": _policy(base.policy, choice.requests),
            "budget_seconds": seconds,
            "p50_concurrency": level,
        }
    )


def _policy(policy: Policy, requests: int) -> Policy:
    """A leg that shows nothing passes: its limit is a little over what so many clean answers rule out."""
    fixed = {
        "requests": requests,
        "control_requests": min(LEG_CONTROL, requests),
        "max_wrong_rate": 1.05 * rule_out(requests, 0.95),
        "confidence": 0.95,
    }
    return policy.model_copy(update=fixed)


def arms(plan: Plan) -> tuple[Arm, ...]:
    """Schedule x concurrency; with a single level of 1 there is nothing but a closed loop."""
    levels = sorted(level for level in set(plan.concurrency) if level > 1)
    if not levels:
        return ((ANCHOR_SCHEDULE, 1),)
    return tuple((schedule, level) for schedule in plan.schedules for level in levels)


def choose(plan: Plan, legs: Sequence[Leg], number: int, active: float, anchor_seconds: float) -> Choice:
    """Leg ``number``, after those that have ended, ``active`` seconds into the soak."""
    anchors = [leg for leg in legs if leg.purpose == "anchor"]
    if not anchors or active - anchors[-1].active >= anchor_seconds:
        level = max(plan.concurrency)
        return _choice("anchor", "anchor", (ANCHOR_SCHEDULE, level), plan.families, plan.seed, ANCHOR_REQUESTS)
    sweeps = [leg for leg in legs if leg.purpose == "sweep"]
    arm, why = _arm(plan, sweeps)
    return _choice("sweep", why, arm, _families(plan, len(sweeps)), _seed(plan.seed, number), _size(legs, arm))


def _choice(purpose: Purpose, why: Why, arm: Arm, families: tuple[str, ...], seed: int, requests: int) -> Choice:
    schedule, concurrency = arm
    return Choice(
        purpose=purpose,
        why=why,
        schedule=schedule,
        concurrency=concurrency,
        families=families,
        seed=seed,
        requests=requests,
    )


def _size(legs: Sequence[Leg], arm: Arm) -> int:
    """Judged answers of the next leg's gated cell, or of each of them, by how long the last one took for its own."""
    least, most = LEG_REQUESTS
    last, before = legs[-1], legs[-2].active if len(legs) > 1 else 0.0
    judged = max((cell.n for cell in last.cells if cell.role == "gated"), default=0)
    seconds = max(last.active - before, 1.0)
    per_second = judged * _work((last.schedule, last.concurrency)) / seconds
    return min(max(int(LEG_SECONDS * per_second / _work(arm)) // 8 * 8, least), most)


def _work(arm: Arm) -> float:
    """Requests at one end for each judged answer, or for each prompt where its copies count once."""
    schedule, concurrency = arm
    shape = SHAPES[schedule]
    return shape.load * shape.copies(concurrency) + CALIBRATION


def _arm(plan: Plan, sweeps: Sequence[Leg]) -> tuple[Arm, Why]:
    known = arms(plan)
    if sweeps and sweeps[-1].why == "rotation":
        hot = {arm: chance for arm in known if (chance := _chance(arm, sweeps)) is not None}
        if hot:
            return max(hot, key=lambda arm: hot[arm]), "findings"
    turn, place = divmod(sum(leg.why == "rotation" for leg in sweeps), len(known))
    order = list(known)
    random.Random(f"{plan.seed}/soak/arms/{turn}").shuffle(order)
    return order[place], "rotation"


def _chance(arm: Arm, sweeps: Sequence[Leg]) -> float | None:
    """How often this arm's legs showed something, a little towards one half; None where none did."""
    own = [leg for leg in sweeps if (leg.schedule, leg.concurrency) == arm]
    hits = sum(hit(leg) for leg in own)
    return (hits + 1) / (len(own) + 2) if hits else None


def hit(leg: Leg) -> bool:
    """Whether a leg showed something: a finding that breaks gates, or an answer that only the candidate got wrong."""
    gated = (cell for cell in leg.cells if cell.role == "gated" and cell.counted)
    return any(found.breaks for found in leg.findings) or any(cell.b > 0 for cell in gated)


def _families(plan: Plan, sweep: int) -> tuple[str, ...]:
    """A window of the families, so that each leg has few kinds and the night has them all; few need no window."""
    if plan.corpora and not plan.families:
        return ()  # a corpus alone stays alone
    names = plan.families or tuple(name for name, family in FAMILIES.items() if any(family.weights.values()))
    count = -(-len(names) // WINDOW)
    if count == 1:
        return plan.families
    turn, place = divmod(sweep, count)
    order = list(names)
    random.Random(f"{plan.seed}/soak/families/{turn}").shuffle(order)
    return tuple(order[place::count])


def _seed(seed: int, number: int) -> int:
    return int.from_bytes(hashlib.sha256(f"{seed}/soak/leg/{number}".encode()).digest()[:7], "big")
