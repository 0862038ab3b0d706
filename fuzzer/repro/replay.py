"""Replay of a bundle: does it still show, is it gone, or has it become something else?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from fuzzer.errors import UnavailableError
from fuzzer.finding import Finding
from fuzzer.history.messages import Record
from fuzzer.plan import Endpoint
from fuzzer.repro.alike import kind_of, same_kind
from fuzzer.repro.bundle import Bundle, Tally
from fuzzer.repro.play import Played, playing, refuses
from fuzzer.repro.script import expected, needed
from fuzzer.stats.intervals import rule_out

Verdict = Literal["reproduced", "gone", "changed kind", "too few"]
EXITS: dict[Verdict, int] = {"reproduced": 1, "changed kind": 1, "gone": 0, "too few": 3}
LEAST, MOST = 10, 400  # replays unless a number is given


class Replayed(Record):
    """What came of it: ``k`` of ``n`` replays failed as before. Rates are shares from 0 to 1.

    ``expected`` is the share that should fail by what was recorded, ``needed`` the replays without a failure that rule
    out the lower end of its interval with 95 %, ``ruled_out`` the smallest rate that this many rule out. ``others``
    counts the replays in which a judged answer had another fault. ``refused`` replays are in none of these counts: the
    server would not take a judged request (HTTP 4xx), which says nothing of the bug.
    """

    key: str
    url: str
    verdict: Verdict
    exit_status: int
    tally: Tally
    expected: float
    needed: int
    ruled_out: float | None = None
    others: dict[str, int] = Field(default_factory=dict)
    refused: int = 0
    example: str = ""

    @property
    def lines(self) -> list[str]:
        """All of it in sentences."""
        tally = self.tally
        counted = f"{tally.k} of {tally.n} replays fail (95 % {_percent(tally.low)} to {_percent(tally.high)})"
        said = [f"{self.verdict}: {self.key} at {self.url}: {counted}"]
        if self.verdict == "reproduced":
            inside = tally.low <= self.expected <= tally.high
            rarer = "less often than" if self.expected > tally.high else "more often than"
            said.append(
                f"{'about as often as' if inside else rarer} by the record ({_percent(self.expected)} of replays)"
            )
            said += [f"e.g. {self.example}"] if self.example else []
        if self.verdict == "changed kind":
            told = ", ".join(f"{kind} in {count} replays" for kind, count in sorted(self.others.items()))
            said.append(f"not one fails as before, but there is {told}")
        if self.refused:
            said.append(f"{self.refused} more replays say nothing: the server refused a request in them")
        if self.ruled_out is not None:
            said.append(f"rules out, at 95 %, that more than {_percent(self.ruled_out)} of replays fail")
        if self.verdict == "too few":
            rate = _percent(self.expected)
            said.append(f"by the record {rate} of replays should fail; to call it gone takes --times {self.needed}")
        return said


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


async def replay(bundle: Bundle, endpoint: Endpoint, times: int | None = None) -> Replayed:
    """Send the bundle's cohort so many times, judge it with the run's oracles, and compare with the record.

    ``times`` None means as many as it takes to call the bug gone, within 10 and 400. Raises UnavailableError, also
    where the server refuses a plain request, or every replay's.
    """
    enough = needed(bundle)
    async with playing(endpoint, bundle.cohort.sampling) as player:
        trial = player.trial(bundle.cohort, bundle.finding)
        played = await trial.run(times or min(MOST, max(LEAST, enough)))
    return compared(bundle, endpoint, played, enough)


def _refusal(finding: Finding) -> bool:
    return finding.kind == "service" and refuses(finding.evidence.get("http_status"))


def compared(bundle: Bundle, endpoint: Endpoint, played: Sequence[Played], enough: int) -> Replayed:
    """What replays come to, beside the record; ``enough`` of them without a failure call the bug gone."""
    known, keep = bundle.finding, kind_of(bundle.finding)
    failed, others, refused = 0, Counter[str](), 0
    example = refusal = ""
    for one in played:
        told = [finding for finding in one.findings if _refusal(known) or not _refusal(finding)]
        alike = [finding for finding in told if same_kind(known, finding)]
        if not alike and len(told) < len(one.findings):
            refused += 1
            refusal = next(finding.summary for finding in one.findings if _refusal(finding))
            continue
        failed += bool(alike)
        example = example or next((finding.summary for finding in alike), "")
        others.update({kind_of(f) for f in told if f.certainty != "possible"} - {keep})
    judged = len(played) - refused
    if not judged:
        raise UnavailableError(f"{endpoint.url} refuses the bundle's requests, so nothing can be said: {refusal}")
    verdict: Verdict = "reproduced" if failed else "changed kind" if others else "gone"
    if verdict == "gone" and judged < enough:
        verdict = "too few"
    return Replayed(
        key=bundle.key,
        url=endpoint.url,
        verdict=verdict,
        exit_status=EXITS[verdict],
        tally=Tally.of(failed, judged, "replays"),
        expected=expected(bundle),
        needed=enough,
        ruled_out=None if failed else rule_out(judged),
        others=dict(others),
        refused=refused,
        example=example,
    )
