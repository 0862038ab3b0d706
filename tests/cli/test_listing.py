"""What there is, listed: whole lines for a pipe, folded for a terminal, JSON for machines; nothing is cut."""

from __future__ import annotations

import json
import re

import pytest

from fuzzer.cli.listing import show_faults, table
from fuzzer.report.render import open_screen
from fuzzer.sim.faults import FAULTS
from fuzzer.sim.gateway_faults import GATEWAY_FAULTS
from fuzzer.traffic.schedules import SCHEDULES
from tests.cli.conftest import specfuzz
from tests.report.factory import Terminal

NARROW = {"COLUMNS": "40"}


def lines(terminal: Terminal) -> list[str]:
    """What a terminal shows, without its colours."""
    return re.sub(r"\x1b\[[0-9;]*m", "", terminal.getvalue()).splitlines()


def joined(text: str) -> str:
    return "".join(text.split())


def test_in_a_pipe_each_fault_is_one_line_with_all_that_is_known_of_it() -> None:
    shown = specfuzz("faults", env=NARROW).out.splitlines()
    assert len(shown) == len(FAULTS) + len(GATEWAY_FAULTS)
    for name, fault in FAULTS.items():
        (line,) = (line for line in shown if line.startswith(f"{name} (serve-sim): "))
        for told in (fault.summary, fault.symptom, fault.rate, fault.trigger, fault.schedule, fault.report):
            assert told in line
        assert f"at concurrency {fault.concurrency}" in line
        assert fault.minimum == 1 or f"{fault.minimum} requests at least" in line


@pytest.mark.parametrize("width", [40, 80, 140])
def test_a_terminal_gets_the_faults_folded_and_whole(width: int) -> None:
    terminal = Terminal()
    show_faults(open_screen(terminal, width))
    shown = lines(terminal)
    assert max(map(len, shown)) <= width
    everything = joined("".join(shown))
    for fault in FAULTS.values():
        for told in (fault.summary, fault.symptom, fault.report):
            assert joined(told) in everything
    if width >= 80:
        assert all(any(line.strip() == fault.report for line in shown) for fault in FAULTS.values())


def test_the_rate_of_a_fault_that_strikes_no_requests_says_what_it_strikes() -> None:
    shown = specfuzz("faults").out.splitlines()
    for name, rate in (
        ("row-swap", "5% of requests"),
        ("uptime-drift", "100% of its full speed"),
        ("stuck-drain", "70% of drains"),
        ("spec-off", "100% of servers"),
        ("page-reuse", "50% of cancelled requests"),
    ):
        (line,) = (line for line in shown if line.startswith(f"{name} (serve-sim): "))
        assert f" | rate: {rate} | " in line


def test_json_tells_the_same_of_every_fault_and_null_where_nothing_is_known() -> None:
    told = json.loads(specfuzz("faults", "--json").out)
    assert {(each["where"], each["name"]) for each in told} == {
        *(("serve-sim", name) for name in FAULTS),
        *(("gateway", name) for name in GATEWAY_FAULTS),
    }
    assert len({frozenset(each) for each in told}) == 1
    by_name = {each["name"]: each for each in told if each["where"] == "serve-sim"}
    reuse = by_name["page-reuse"]
    assert (reuse["symptom"], reuse["rate"], reuse["rate_of"]) == ("NONDET", 0.5, "cancelled requests")
    assert (reuse["schedule"], reuse["concurrency"], reuse["minimum"]) == ("shared-prefix-cancel", 8, 3)
    assert "leaves while its request runs" in reuse["trigger"]
    assert (by_name["hang"]["schedule"], by_name["hang"]["trigger"]) == (None, None)
    assert {each["report"] for each in told if each["where"] == "gateway"} == {None}


def test_in_a_pipe_a_schedule_is_one_whole_line() -> None:
    shown = specfuzz("schedules", env=NARROW).out.splitlines()
    assert len(shown) == 1 + len(SCHEDULES)
    assert all(line.startswith(name) for line, name in zip(shown[1:], SCHEDULES, strict=True))
    assert all(line.endswith(each.summary) for line, each in zip(shown[1:], SCHEDULES.values(), strict=True))


@pytest.mark.parametrize("width", [30, 80])
def test_a_table_on_a_terminal_is_folded_and_loses_nothing(width: int) -> None:
    link = "https://example.org/" + "x" * 60
    terminal = Terminal()
    table(("name", "link"), [("a-name-in-words", link)], open_screen(terminal, width))
    shown = lines(terminal)
    assert max(map(len, shown)) <= width
    assert "".join(shown).count("x") == link.count("x")
    assert any("a-name-in-words" in line for line in shown) == (width == 80)  # there is no room for it in 30 columns
