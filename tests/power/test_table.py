from __future__ import annotations

from fuzzer.power.table import clean_lines, fault_lines, markdown, summary

from .factory import row


def test_power_kind_donor_and_the_closed_loop_have_their_n_and_their_bound() -> None:
    rows = [row(seed=seed) for seed in range(59)]
    rows[3] = row(seed=3, donors={"right": 1, "wrong": 1})
    rows[4] = row(seed=4, kind_ok=False, donors={}, first=None)
    rows += [row(seed=seed, purpose="plain", schedule="closed-loop", found=seed == 0) for seed in range(59)]
    (line,) = fault_lines(rows)
    assert (str(line.power), str(line.kind), str(line.donor), str(line.plain)) == ("59/59", "58/59", "57/58", "1/59")
    assert 0.95 <= line.power.bound < 0.951
    assert line.plain is not None
    assert 0.05 < line.plain.bound < 0.09
    assert line.first == (70, 98)


def test_a_fault_that_any_traffic_shows_has_no_closed_loop_beside_it() -> None:
    (line,) = fault_lines([row("collapse"), row("collapse", seed=1, found=False, exit=0)])
    assert (line.plain, line.donor) == (None, None)
    assert str(line.power) == "1/2"
    assert line.exits == {0: 1, 1: 1}


def test_lines_are_in_the_order_of_the_zoo() -> None:
    rows = [row("usage-off-by-one"), row("stale-slot"), row("stale-slot", schedule="rounds")]
    assert [(line.fault, line.schedule) for line in fault_lines(rows)] == [
        ("stale-slot", "burst-solo"),
        ("stale-slot", "rounds"),
        ("usage-off-by-one", "closed-loop"),
    ]


def test_clean_runs_tell_failures_from_what_stayed_open() -> None:
    rows = [row("none", seed=seed, schedule="rounds") for seed in range(8)]
    rows += [row("none", seed=8, schedule="rounds", exit=3), row("none", seed=9, schedule="rounds", exit=1)]
    rows.append(row("none", schedule="default-gate"))
    gate, rounds = clean_lines(rows)
    assert (gate.schedule, str(gate.alarms)) == ("default-gate", "0/1")
    assert (str(rounds.alarms), str(rounds.undecided)) == ("1/10", "1/10")


def test_the_tables_name_the_command_that_makes_them() -> None:
    text = markdown([row(), row("none")], "specfuzz power --seeds 1 --clean-each 1")
    assert "`specfuzz power --seeds 1 --clean-each 1`" in text
    assert "| stale-slot | 100% | burst-solo | 1/1 |" in text
    assert "| closed-loop | 0/1 |" in text
    told = summary([row(), row("none")])
    assert told["confidence"] == 0.95
    assert len(list(told)) == 3
