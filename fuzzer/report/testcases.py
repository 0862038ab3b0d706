"""Suites and cases of JUnit XML, as build servers document it.

GitLab shows an element's text and not its ``message``, knows a case by class and name and drops a second one, and reads
files of up to 30 MB.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

from fuzzer.report.text import clean

Outcome = Literal["failure", "error", "skipped"]

LIMIT: Final = 2000
"""Characters of a message."""

_ATTACHMENT: Final = "[[ATTACHMENT|"  # GitLab would take what follows for a file of the job


@dataclass(frozen=True, slots=True)
class Result:
    """How a test case ended; ``outcome`` None means that it passed."""

    outcome: Outcome | None
    message: str = ""


PASSED: Final = Result(None)


def document(root: ET.Element, seconds: float) -> str:
    """The whole of it as text, its totals taken from its suites."""
    for name in ("tests", "failures", "errors", "skipped"):
        root.set(name, str(sum(int(each.get(name, "0")) for each in root)))
    root.set("time", f"{seconds:.3f}")
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def suite(root: ET.Element, name: str, started: str) -> ET.Element:
    """A new suite; ``started`` is ISO 8601."""
    return ET.SubElement(root, "testsuite", {"name": clean(name, 300), "timestamp": clean(started, 60)})


def properties(whole: ET.Element, **values: object) -> None:
    """What is known of a suite, by name."""
    holder = ET.SubElement(whole, "properties")
    for name, value in values.items():
        ET.SubElement(holder, "property", {"name": name, "value": clean(str(value), LIMIT)})


def case(
    whole: ET.Element, classname: str, name: str, result: Result, lines: Iterable[str], seconds: float = 0.0
) -> None:
    """A new case of a suite; ``lines`` tell more of it."""
    found = ET.SubElement(
        whole, "testcase", {"classname": clean(classname, 300), "name": clean(name, 300), "time": f"{seconds:.3f}"}
    )
    told = [line.replace(_ATTACHMENT, "[[ATTACHMENT") for line in lines]
    if result.outcome is not None:
        message = clean(result.message, LIMIT)
        ending = ET.SubElement(found, result.outcome, {"message": message})
        ending.text = message.replace(_ATTACHMENT, "[[ATTACHMENT")
        if result.outcome != "skipped":
            ending.set("type", clean(name, 300))
            ending.text = "\n".join((ending.text, *told))
            return
    if told:
        ET.SubElement(found, "system-out").text = "\n".join(told)


def count(whole: ET.Element, seconds: float = 0.0) -> None:
    """The totals that readers of JUnit expect on a suite."""
    whole.set("tests", str(len(whole.findall("testcase"))))
    for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        whole.set(name, str(len(whole.findall(f"testcase/{tag}"))))
    whole.set("time", f"{seconds:.3f}")
