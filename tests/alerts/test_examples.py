"""The example dashboard and alert rules ask for metrics and labels that there are."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from fuzzer.alerts.metrics import METRICS

EXAMPLES = Path(__file__).parents[2] / "examples"
DASHBOARD: dict[str, Any] = json.loads((EXAMPLES / "grafana" / "specfuzz-soak.json").read_text(encoding="utf-8"))
RULES: dict[str, Any] = yaml.safe_load((EXAMPLES / "prometheus" / "alerts.yml").read_text(encoding="utf-8"))
TARGET = {"job", "instance"}  # labels that Prometheus adds itself

_METRIC = re.compile(r"\b(specfuzz_\w+)\b(?:\{([^}]*)\})?")
_MATCHER = re.compile(r"(\w+)\s*(?:=~|!~|!=|=)\s*\"")
_CLAUSE = re.compile(r"\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)")
_SHOWN = re.compile(r"\{\{\s*(?:\$labels\.)?(\w+)\s*\}\}")


def panels() -> Iterator[dict[str, Any]]:
    yield from DASHBOARD["panels"]


def queries() -> Iterator[tuple[str, str]]:
    """Every query of a panel or a rule, and the text that shows its labels."""
    for panel in panels():
        for target in panel["targets"]:
            yield target["expr"], target["legendFormat"]
    for rule in rules():
        yield rule["expr"], " ".join(rule["annotations"].values())


def rules() -> list[dict[str, Any]]:
    return [rule for group in RULES["groups"] for rule in group["rules"]]


def faults(query: str, shown: str = "") -> list[str]:
    """What of a query is not there."""
    used = _METRIC.findall(query)
    wrong = [name for name, _ in used if name not in METRICS]
    known = {label for name, _ in used if name in METRICS for label in METRICS[name].labels} | TARGET
    for name, matchers in used:
        there = {*METRICS[name].labels, *TARGET} if name in METRICS else known
        wrong += [label for label in _MATCHER.findall(matchers) if label not in there]
    named = [label.strip() for clause in _CLAUSE.findall(query) for label in clause.split(",")]
    return wrong + [label for label in (*named, *_SHOWN.findall(shown)) if label not in known]


def test_what_is_not_there_is_noticed() -> None:
    assert faults("rate(specfuzz_exchanges{arm='x'}[5m])") == ["specfuzz_exchanges"]
    assert faults('specfuzz_exchanges_total{kind="bleed", arm!~"x"}') == ["kind"]
    assert faults("sum by (outcome, schedule) (specfuzz_exchanges_total)", "{{arm}} {{ $labels.phase }}") == [
        "schedule",
        "phase",
    ]


@pytest.mark.parametrize(("query", "shown"), list(queries()), ids=lambda text: str(text)[:60])
def test_every_metric_and_label_of_a_query_exists(query: str, shown: str) -> None:
    assert _METRIC.search(query)
    assert faults(query, shown) == []
    for opening, closing in ("()", "[]", "{}"):
        assert query.count(opening) == query.count(closing)


@pytest.mark.parametrize(("query", "shown"), list(queries()), ids=lambda text: str(text)[:60])
def test_rates_are_of_counters_and_changes_of_gauges(query: str, shown: str) -> None:
    for name in re.findall(r"\b(?:rate|increase|irate)\(\s*(specfuzz_\w+)", query):
        assert METRICS[name].kind == "counter"
    for name in re.findall(r"\b(?:changes|predict_linear|max_over_time)\(\s*(specfuzz_\w+)", query):
        assert METRICS[name].kind == "gauge"


def test_every_metric_is_shown_on_the_dashboard() -> None:
    asked = " ".join(target["expr"] for panel in panels() for target in panel["targets"])
    assert [name for name in METRICS if name not in asked] == []


def test_the_dashboard_can_be_imported_anywhere() -> None:
    assert DASHBOARD["schemaVersion"] >= 39
    assert DASHBOARD["id"] is None, "a number would name a dashboard of some other Grafana"
    variables = {each["name"]: each for each in DASHBOARD["templating"]["list"]}
    assert (variables["datasource"]["type"], variables["datasource"]["query"]) == ("datasource", "prometheus")
    for name in ("job", "instance"):
        assert faults(variables[name]["definition"]) == []
        assert set(_METRIC.findall(variables[name]["definition"])) == set(
            _METRIC.findall(variables[name]["query"]["query"])
        )
    assert {each["datasource"]["uid"] for each in (*panels(), *(t for p in panels() for t in p["targets"]))} == {
        "${datasource}"
    }
    used = set(re.findall(r"\$(?!__)\{?(\w+)", json.dumps(DASHBOARD)))
    assert used == set(variables), "every variable is there and used"


def test_panels_have_a_place_and_a_description_of_their_own() -> None:
    assert (
        len({panel["id"] for panel in panels()}) == len({panel["title"] for panel in panels()}) == len(list(panels()))
    )
    taken: set[tuple[int, int]] = set()
    for panel in panels():
        at = panel["gridPos"]
        place = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert at["x"] + at["w"] <= 24
        assert not place & taken
        taken |= place
        assert panel["description"].endswith(".")


def test_rules_are_what_prometheus_reads() -> None:
    assert set(RULES) == {"groups"}
    assert len({rule["alert"] for rule in rules()}) == len(rules())
    for rule in rules():
        assert set(rule) <= {"alert", "expr", "for", "labels", "annotations"}
        assert re.fullmatch(r"[A-Za-z_]\w*", rule["alert"])
        assert re.fullmatch(r"\d+[smhd]", rule.get("for", "0s"))
        assert rule["labels"]["severity"] in ("info", "warning", "critical")
        assert set(rule["annotations"]) == {"summary", "description"}


def test_a_series_that_can_be_gone_has_a_rule() -> None:
    asked = {name for rule in rules() for name, _ in _METRIC.findall(rule["expr"])}
    assert asked >= {
        "specfuzz_verdict",
        "specfuzz_last_progress_timestamp_seconds",
        "specfuzz_outage_open",
        "specfuzz_findings_total",
    }
