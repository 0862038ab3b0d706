from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest
from junitparser import Error, Failure, JUnitXml

from fuzzer.report.junit import junit
from fuzzer.summary import NoiseFloor, Reason, ReasonCode, Summary, VerdictName

from . import factory
from .test_markdown import everywhere

C8 = "candidate/nvfp4/c8/closed-loop"
ILLEGAL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def parse(summary: Summary) -> ET.Element:
    text = junit(summary)
    assert not ILLEGAL.search(text)
    return ET.fromstring(text.encode())  # noqa: S314 - our own output


def case(root: ET.Element, suite: str, name: str) -> ET.Element:
    found = root.find(f"testsuite[@name='{suite}']/testcase[@name='{name}']")
    assert found is not None
    return found


def outcome(found: ET.Element) -> str:
    return next((child.tag for child in found if child.tag in ("failure", "error", "skipped")), "passed")


def outcomes(root: ET.Element, suite: str = C8) -> dict[str, str]:
    return {str(found.get("name")): outcome(found) for found in root.findall(f"testsuite[@name='{suite}']/testcase")}


def test_a_case_a_cell_and_oracle() -> None:
    root = parse(factory.passing())
    assert [suite.get("name") for suite in root] == [
        "verdict", "candidate/nvfp4/c1/closed-loop", "candidate/nvfp4/c8/burst-solo", C8,
    ]  # fmt: skip
    assert set(outcomes(root)) == {
        "bleed", "wrong-answer", "divergence", "self-consistency", "corruption", "service", "speculation-health",
        "independence",
    }  # fmt: skip


def test_a_pass_has_neither_failure_nor_error() -> None:
    root = parse(factory.passing())
    assert (root.get("failures"), root.get("errors")) == ("0", "0")
    assert set(outcomes(root).values()) == {"passed"}


def test_a_failure_stands_at_the_oracle_that_broke_the_gate() -> None:
    root = parse(factory.failing())
    found = outcomes(root)
    assert found.pop("bleed") == "failure"
    assert found.pop("wrong-answer") == "failure"
    assert set(found.values()) == {"passed"}
    ending = case(root, C8, "bleed").find("failure")
    assert ending is not None
    assert "bleed/concurrent/history@candidate" in str(ending.get("message"))
    assert "donor: prompt p000012, exchange measure/b0/12" in str(ending.text)


def test_a_waived_finding_is_told_but_does_not_fail() -> None:
    found = case(parse(factory.failing()), C8, "corruption")
    assert outcome(found) == "passed"
    assert "waived" in str(found.findtext("system-out"))


@pytest.mark.parametrize(
    ("code", "oracle"),
    [
        ("material-divergence", "divergence"),
        ("service-failures", "service"),
        ("acceptance-collapse", "speculation-health"),
    ],
)
def test_other_broken_bounds_fail_their_oracle(code: ReasonCode, oracle: str) -> None:
    reason = Reason(code=code, cell=C8, message="broken")
    root = parse(factory.failing().model_copy(update={"reasons": (reason,), "findings": ()}))
    assert [name for name, end in outcomes(root).items() if end == "failure"] == [oracle]


def test_what_was_not_measured_is_an_error_never_skipped() -> None:
    root = parse(factory.inconclusive())
    assert set(outcomes(root).values()) == {"error"}
    assert outcomes(root, "candidate/nvfp4/c8/burst-solo")["wrong-answer"] == "error"
    ending = case(root, C8, "speculation-health").find("error")
    assert ending is not None
    assert "is the drafter switched on?" in str(ending.get("message"))


def test_a_gated_cell_that_did_not_run_is_an_error_and_a_control_is_skipped() -> None:
    stopped = factory.passing()
    cells = tuple(cell.model_copy(update={"status": "not-run"}) for cell in stopped.cells)
    root = parse(stopped.model_copy(update={"cells": cells, "verdict": "interrupted", "exit_status": 130}))
    assert set(outcomes(root).values()) == {"error"}
    assert set(outcomes(root, "candidate/nvfp4/c1/closed-loop").values()) == {"skipped"}


def test_what_the_gate_does_not_ask_for_is_skipped() -> None:
    control = outcomes(parse(factory.passing()), "candidate/nvfp4/c1/closed-loop")
    assert (control["wrong-answer"], control["divergence"], control["bleed"]) == ("skipped", "skipped", "passed")
    assert outcomes(parse(factory.no_reference()))["divergence"] == "skipped"


def test_divergence_says_why_it_was_not_judged() -> None:
    floor = NoiseFloor(
        n=9, reference=0, candidate=0, band_tie=0.1, band_material=0.5, band_source="x", judged=False,
        note="head-confounded",
    )  # fmt: skip
    cell = factory.cell().model_copy(update={"noise_floor": floor})
    root = parse(factory.passing().model_copy(update={"cells": (cell,)}))
    skipped = case(root, C8, "divergence").find("skipped")
    assert skipped is not None
    assert skipped.get("message") == "divergence was not judged: head-confounded"


def test_drafting_that_need_not_be_seen_is_skipped() -> None:
    cell = factory.cell(seen=False)
    assert outcomes(parse(factory.passing().model_copy(update={"cells": (cell,)})))["speculation-health"] == "skipped"


@pytest.mark.parametrize(
    ("verdict", "end"),
    [
        ("pass", "passed"),
        ("fail", "failure"),
        ("inconclusive", "error"),
        ("unavailable", "error"),
        ("interrupted", "error"),
    ],
)
def test_the_verdict_case_agrees_with_the_exit_status(verdict: VerdictName, end: str) -> None:
    bare = factory.passing().model_copy(update={"verdict": verdict, "cells": (), "reasons": ()})
    assert outcome(case(parse(bare), "verdict", "verdict")) == end


def test_properties_hold_the_figures() -> None:
    suite = parse(factory.two_heads()).find("testsuite[@name='fp4/nvfp4/c8/closed-loop']")
    assert suite is not None
    values = {found.get("name"): found.get("value") for found in suite.iter("property")}
    assert (values["concurrency"], values["lm_head"], values["schedule"]) == ("8", "nvfp4", "closed-loop")
    assert (values["k"], values["n"]) == ("111", "304")
    assert float(str(values["bound"])) == pytest.approx(0.4132, abs=1e-3)


def test_totals_add_up() -> None:
    root = parse(factory.inconclusive())
    cases = list(root.iter("testcase"))
    assert root.get("tests") == str(len(cases))
    for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        assert root.get(name) == str(sum(outcome(found) == tag for found in cases))


@pytest.mark.parametrize("text", [factory.HOSTILE, "]]>", "\x00\x0b\x1f\ufffe\uffff\udfff", "\"&<>'", "\r\n\t"])
def test_any_text_gives_valid_xml(text: str) -> None:
    root = parse(everywhere(text))
    assert len(root) == 5


@pytest.mark.parametrize("summary", [*factory.everything(), everywhere(factory.HOSTILE)], ids=lambda s: s.verdict)
def test_a_junit_parser_counts_what_is_there(summary: Summary) -> None:
    read = JUnitXml.fromstring(junit(summary).encode())
    cases = [case for suite in read for case in suite]
    assert (read.tests, read.failures, read.errors) == (
        len(cases),
        sum(isinstance(result, Failure) for case in cases for result in case.result),
        sum(isinstance(result, Error) for case in cases for result in case.result),
    )
    assert read.skipped == sum(case.is_skipped for case in cases)


def test_what_gitlab_documents_is_kept_to() -> None:
    """A case is known by class and name, a second one is dropped; texts are shown, messages are not; 30 MB at most."""
    text = junit(everywhere("[[ATTACHMENT|/etc/passwd]] " + "x" * 1_000_000))
    assert len(text.encode()) < 30_000_000
    assert not any("[[ATTACHMENT|" in str(one.text) for one in ET.fromstring(text.encode()).iter())  # noqa: S314
    for summary in factory.everything():
        cases = list(parse(summary).iter("testcase"))
        names = [(one.get("classname"), one.get("name")) for one in cases]
        assert len(set(names)) == len(names)
        for one in cases:
            assert float(str(one.get("time"))) >= 0
            for ending in one.iter():
                if ending.tag in ("failure", "error", "skipped"):
                    assert str(ending.text).startswith(str(ending.get("message")))


def test_a_redacted_run_shows_no_text() -> None:
    assert "umbrellas" not in junit(factory.secret())
