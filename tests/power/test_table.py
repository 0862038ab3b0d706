from __future__ import annotations

import pytest

from fuzzer.power.jobs import Row
from fuzzer.power.table import clean_lines, fault_lines, markdown, shortfalls, summary

from .factory import row


def test_power_kind_donor_and_the_closed_loop_have_their_n_and_their_bound() -> None:
    rows = [row(seed=seed) for seed in range(59)]
    rows[3] = row(seed=3, donors={"right": 1, "wrong": 1})
    rows[4] = row(seed=4, kind_ok=False, donors={}, first=None)
    rows += [
        row(seed=seed, purpose="plain", schedule="closed-loop", found=seed == 0, kind_ok=False) for seed in range(59)
    ]
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
    assert summary([row(), row("none")])["confidence"] == 0.95


def test_a_plain_run_that_showed_a_declared_kind_without_failing_counts_as_found() -> None:
    plain = [
        row(seed=seed, purpose="plain", schedule="closed-loop", found=False, exit=3, kind_ok=False) for seed in (0, 1)
    ]
    plain[1] = plain[1].model_copy(update={"kind_ok": True, "kinds": ("bleed", "bleed/stale")})
    (line,) = fault_lines([row(), *plain])
    assert str(line.plain) == "1/2"


def test_runs_that_failed_on_a_certain_finding_of_an_undeclared_kind_are_counted() -> None:
    bleed, markup = (
        "bleed/stale/user@candidate: 4 in this cell",
        "corruption/tool-markup/<tool_call>@candidate: 1 in it",
    )
    rows = [
        row(seed=0, reasons=(f"certain-finding: {bleed}", "wrong-rate: 4 of 54 answers failed")),
        row(seed=1, reasons=(f"certain-finding: {bleed}", f"certain-finding: {markup}", f"certain-finding: {markup}")),
        row("tool-markup", reasons=(f"certain-finding: {markup}",)),
    ]
    assert [line.others for line in fault_lines(rows)] == [1, 0]
    text = markdown(rows, "specfuzz power")
    assert "| stale-slot | 100% | burst-solo | 2/2 | 22.4% | 2/2 | 1 |" in text
    assert "| tool-markup | 70% | closed-loop | 1/1 | 5.0% | 1/1 |  |" in text
    assert fault_lines(rows)[0].json()["other_kinds"] == 1


ALL = 5  # runs of each


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([row(seed=3, found=False, exit=0)], "stale-slot under burst-solo is found in 4/5"),
        ([row(seed=seed, kind_ok=False) for seed in range(2)], ""),
        (
            [row(seed=seed, kind_ok=False) for seed in range(3)],
            "stale-slot under burst-solo shows a declared kind in 2/5",
        ),
        ([row(seed=seed, donors={"wrong": 1}) for seed in range(2)], ""),
        (
            [row(seed=seed, donors={"wrong": 1}) for seed in range(3)],
            "stale-slot under burst-solo names the right donor in 2/5",
        ),
        ([row(seed=seed, donors={}) for seed in range(5)], ""),
        (
            [row(purpose="plain", schedule="closed-loop")],
            "stale-slot, which needs burst-solo, is found by a plain closed loop in 1/1",
        ),
        ([row("none", schedule="rounds", exit=1)], "a clean pair fails under rounds in 1/1"),
        ([row("none", schedule="rounds", seed=seed, exit=0 if seed else 3) for seed in range(9)], ""),
        ([row("none", schedule="rounds", exit=3)], "a clean pair is left undecided under rounds in 1/1"),
        ([row(schedule="rounds", found=False, exit=0)], ""),
        ([row("collapse", schedule="rounds", found=False, exit=0)], "collapse under rounds is found in 0/1"),
    ],
)  # fmt: skip
def test_what_falls_short_is_named(rows: list[Row], said: str) -> None:
    measured = {one.job: one for one in [*(row(seed=seed) for seed in range(ALL)), *rows]}
    assert shortfalls(list(measured.values())) == ([said] if said else [])
    assert markdown(list(measured.values()), "specfuzz power").endswith(f"\nFalls short: {said or 'nothing'}.\n")
    assert summary(list(measured.values()))["falls_short"] == ([said] if said else [])


def test_a_fault_whose_only_run_lacks_a_declared_kind_falls_short() -> None:
    assert shortfalls([row("collapse", kind_ok=False)]) == ["collapse under closed-loop shows a declared kind in 0/1"]


def test_the_program_states_of_the_rows_are_told_under_the_command() -> None:
    rows = [row(seed=seed, program="0123456789ab") for seed in range(3)]
    rows += [row(seed=3, program="ba9876543210"), row(seed=4), row(seed=5)]
    lines = markdown(rows, "specfuzz power --seeds 6").splitlines()
    at = lines.index("`specfuzz power --seeds 6`")
    assert lines[at + 2].endswith(": 3 by `0123456789ab`, 2 earlier rows have none, 1 by `ba9876543210`.")
    assert summary(rows)["programs"] == {"0123456789ab": 3, "": 2, "ba9876543210": 1}


def test_the_text_says_how_much_a_closed_loop_was_asked() -> None:
    told = " ".join(markdown([row()], "specfuzz power").split())
    assert "in 96 judged answers of a plain closed loop, the first 20 seeds" in told
