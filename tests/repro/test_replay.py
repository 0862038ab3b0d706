"""What replays come to: a request that is refused says nothing of the bug."""

from __future__ import annotations

import pytest

from fuzzer.errors import UnavailableError
from fuzzer.finding import Finding
from fuzzer.plan import Endpoint
from fuzzer.repro.play import Played
from fuzzer.repro.replay import compared
from tests.repro.factory import bundle

HERE = Endpoint(name="candidate", url="http://127.0.0.1:9")
FINE = Played((), frozenset())


def _service(status: int) -> Finding:
    known = bundle().finding
    sub_kind = "refused" if status < 500 else "server-error"
    summary, evidence = f"no usable reply: HTTP {status}", {"http_status": status}
    update = {"kind": "service", "sub_kind": sub_kind, "donor": None, "summary": summary, "evidence": evidence}
    return known.model_copy(update=update)


def _failing(finding: Finding) -> Played:
    return Played((0,), frozenset(), (finding,))


def test_replays_that_are_all_refused_are_no_verdict() -> None:
    for known in (bundle(), bundle().model_copy(update={"finding": _service(500)})):
        with pytest.raises(UnavailableError, match="HTTP 400"):
            compared(known, HERE, [_failing(_service(400))] * 3, 3)


def test_replays_that_are_refused_do_not_count_towards_gone() -> None:
    found = compared(bundle(), HERE, [FINE, FINE, _failing(_service(404))], 3)
    assert (found.verdict, found.exit_status, found.tally.n, found.refused) == ("too few", 3, 2, 1)
    assert any("1 more replays say nothing" in line for line in found.lines)


@pytest.mark.parametrize("status", [408, 429, 500])
def test_what_a_busy_server_says_is_another_kind(status: int) -> None:
    assert compared(bundle(), HERE, [_failing(_service(status))], 1).verdict == "changed kind"


def test_refusals_are_counted_where_they_are_what_was_found() -> None:
    known = bundle().model_copy(update={"finding": _service(400)})
    found = compared(known, HERE, [FINE, _failing(_service(400))], 9)
    assert (found.verdict, found.tally.k, found.tally.n, found.refused) == ("reproduced", 1, 2, 0)
