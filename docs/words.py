"""What the names in a summary mean, for the reference; a test asks that none is left out."""

from __future__ import annotations

from collections.abc import Mapping

from fuzzer.finding import Certainty
from fuzzer.summary import CellStatus, VerdictName

VERDICTS: Mapping[VerdictName, str] = {
    "pass": "every gated cell was judged and met every bound",
    "fail": "a bound is broken; the findings that broke it are shown. Wins over 3",
    "inconclusive": "neither: the reasons below say what was missing",
    "unavailable": "an endpoint cannot be reached, or refuses every request",
    "interrupted": "Ctrl-C; what was measured is kept: `specfuzz resume DIR`",
}
OTHER_EXITS: Mapping[int, str] = {
    2: "usage: an argument, a plan or a run directory is wrong; the message names it and gives an example",
    70: "a bug in specfuzz: a traceback is shown, and the history is kept",
}
CERTAINTIES: Mapping[Certainty, str] = {
    "certain": "there is no innocent explanation: a canary of another request, a special token as text. One is enough "
    "to fail a gate, where its kind breaks gates and no reference exchange shows the same",
    "likely": "an innocent explanation would be strange; it counts where the answer fails its check, or as a rate",
    "possible": "to look at; it decides nothing by itself",
}
CELL_STATUSES: Mapping[CellStatus, str] = {
    "pass": "measured, and its bound is under the limit",
    "fail": "a reason that fails was found here",
    "open": "measured, and not decided",
    "vacuous": "measured, but the measurement tests nothing",
    "informational": "the control at concurrency 1: shown, no bound required",
    "not-run": "nothing was measured: left out for the budget, or never reached",
}
REASONS: Mapping[str, str] = {
    "passed": "the cell met its bound; its message says what is ruled out",
    "certain-finding": "a certain bleed, corruption or self-consistency fault (or a request that runs on after its "
    "client has gone) that no reference exchange of the run shows",
    "wrong-rate": "too high a failure rate: by the sequential test, or for a fixed size by the lower bound",
    "worse-than-reference": "worse on the same prompts: exact McNemar, one-sided, Holm over the gated cells, p < 0.01",
    "service-failures": "requests that failed in service on the candidate alone: the same test",
    "material-divergence": "material divergence beyond the reference's own: the same test, by level",
    "acceptance-collapse": "acceptance (length, or share of the draft tokens) fell below half of that at concurrency 1",
    "stale-drafts": "after a long request on the same slot under half of the draft tokens of word lists are accepted",
    "bound-open": "the bound neither meets nor breaks the limit",
    "no-speculation": "drafting was not seen here, or hardly any; `--no-require-speculation` lifts it",
    "concurrency-not-reached": "N were in flight for less than 99 % of the time, or the server's batch never filled",
    "too-few-judged": "fewer answers could be judged than the bound needs",
    "not-comparable": "the two ends differ in what must be alike, or the reference speculates",
    "truncated": "more than 5 % of the reference's probes were cut at the token limit; raise `--max-tokens`",
    "reference-faulty": "the reference shows certain faults or service failures itself",
    "shared-service-failures": "more than 5 % of the requests failed in service on both sides",
    "budget": "the cell did not fit `--budget`",
    "restarted": "an engine was restarted in mid-run: its counters or its process began anew",
    "changed": "a server was replaced by another in mid-run",
    "rate-limited": "a server refused requests by number (HTTP 429): nobody's failure, and the cell stays undecided",
    "other-traffic": "somebody else's requests ran at a server: what was in flight is not known",
    "unavailable": "an endpoint could not be reached or used (exit 4)",
    "interrupted": "the run did not come to its end (exit 130)",
}
