from __future__ import annotations

import pytest

from fuzzer.finding import Finding
from fuzzer.history.records import Exchange, Outcome
from fuzzer.oracles.service import judge
from tests.oracles.factory import World, exchange, prompt

OK = exchange("p", "fine", arm="reference")


def found(*exchanges: Exchange) -> list[Finding]:
    world = World((prompt("p"),), exchanges)
    return list(judge(world.batch, world.context()))


def test_usable_and_lost_exchanges_are_clean() -> None:
    assert found(exchange("p", "fine"), OK, exchange("p", "", index=1), exchange("p", lost=True, index=2)) == []


@pytest.mark.parametrize("outcome", ["server-error", "empty-body", "truncated-stream", "bad-json", "overloaded"])
def test_a_failure_that_the_pair_was_spared_is_certain(outcome: Outcome) -> None:
    (finding,) = found(exchange("p", outcome=outcome, detail="boom"), OK)
    assert (finding.key, finding.certainty) == (f"service/{outcome}@candidate", "certain")
    assert "'boom'" in finding.summary


@pytest.mark.parametrize(
    "pair", [(), (exchange("p", arm="reference", outcome="connect"),), (exchange("p", arm="reference", lost=True),)]
)
def test_a_failure_without_a_pair_that_went_well_is_likely(pair: tuple[Exchange, ...]) -> None:
    assert {one.certainty for one in found(exchange("p", outcome="server-error"), *pair)} == {"likely"}


@pytest.mark.parametrize("outcome", ["timeout-read", "timeout-total"])
def test_a_time_out_is_a_hang_and_says_which(outcome: Outcome) -> None:
    (finding,) = found(exchange("p", outcome=outcome, at=(0, 120)), OK)
    assert (finding.sub_kind, finding.key) == ("hang", f"service/hang/{outcome}@candidate")
    assert "120.0 s" in finding.summary


def test_each_protocol_fault_of_a_usable_reply_is_a_finding() -> None:
    shared = exchange("p", "fine", arm="reference", anomalies=("role-twice",))
    findings = found(exchange("p", "fine", anomalies=("no-done", "role-twice", "no-done")), shared)
    assert [(one.arm, one.sub_kind, one.certainty) for one in findings] == [
        ("candidate", "no-done", "certain"),
        ("candidate", "role-twice", "likely"),
        ("reference", "role-twice", "likely"),
    ]


def test_server_text_is_escaped_and_clipped() -> None:
    (finding,) = found(exchange("p", outcome="server-error", detail="\x1b[2J\n" + "x" * 999), OK)
    assert "\x1b" not in finding.summary
    assert "\n" not in finding.summary
    assert len(finding.summary) < 200


def test_findings_can_be_written_as_json_whatever_the_server_said() -> None:
    (finding,) = found(exchange("p", outcome="bad-json", detail="half \ud800 a pair\x00"), OK)
    assert Finding.model_validate_json(finding.model_dump_json()) == finding
