"""What the metrics count, and that they are what Prometheus and its linter ask for."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from prometheus_client import generate_latest
from prometheus_client.openmetrics import exposition, parser
from prometheus_client.parser import text_string_to_metric_families

from fuzzer.alerts.metrics import METRICS, OTHER, NightMetrics
from fuzzer.events import BlockJudged, ExchangeDone, ExchangeSent, FindingSeen, RunFinished, RunStarted
from fuzzer.plan import Endpoint, Plan
from tests.alerts.factory import CELL, LABELS, counts, exchange_ends, leg, value, values
from tests.report import factory

PLAN = Plan(
    candidates=(Endpoint(name="candidate", url="http://127.0.0.1:1", lm_head="nvfp4"),), schedules=("closed-loop",)
)
HOSTILE = 'x"} 1\n# HELP specfuzz_evil \\ \x1b[31m\u202e'


def begun() -> NightMetrics:
    """Metrics in a leg whose run has begun."""
    metrics = NightMetrics(clock=lambda: 1000.0)
    metrics.leg_begun(3, "sweep", "closed-loop", 8)
    metrics(RunStarted("r", "d", PLAN, resumed=False))
    return metrics


def judged(metrics: NightMetrics) -> tuple[float, float]:
    return (
        value(metrics, "specfuzz_failed_answers_total", **LABELS),
        value(metrics, "specfuzz_judged_answers_total", **LABELS),
    )


def busy() -> NightMetrics:
    """Metrics of which none is without a value, with names from outside that are out to break the format."""
    metrics = begun()
    exchange_ends(metrics)
    metrics(FindingSeen(factory.bleed()))
    odd = replace(counts(1, 9), candidate=HOSTILE, lm_head=None, key="odd")
    metrics.leg_ended(leg(counts(1, 40), odd))
    metrics.leg_begun(4, "anchor", "rounds", 2)
    metrics.boot(2)
    metrics.outage(HOSTILE, True)
    metrics.disk(12_345)
    metrics.verdict("fail")
    return metrics


# --- what they count


def test_answers_are_counted_by_cell_once_each() -> None:
    metrics = begun()
    metrics(BlockJudged(CELL.key, 0, failures=1, judged=32, wanted=331))
    assert judged(metrics) == (1, 32)
    metrics(BlockJudged(CELL.key, 1, failures=3, judged=64, wanted=331))
    assert judged(metrics) == (3, 64)
    metrics.leg_ended(leg(counts(4, 70)))
    assert judged(metrics) == (4, 70)
    metrics.leg_begun(4, "sweep", "closed-loop", 8)
    metrics(BlockJudged(CELL.key, 0, failures=0, judged=32, wanted=331))
    assert judged(metrics) == (4, 102)


def test_legs_that_end_one_after_the_other_add_up() -> None:
    metrics = begun()
    metrics.leg_ended(leg(counts(1, 40)))
    metrics.leg_ended(leg(counts(2, 40)))
    assert judged(metrics) == (3, 80)


def test_a_counter_never_goes_back() -> None:
    metrics = begun()
    metrics(BlockJudged(CELL.key, 0, failures=2, judged=32, wanted=331))
    metrics.leg_ended(leg(counts(1, 30)))
    assert judged(metrics) == (2, 32)


def test_exchanges_are_in_flight_until_they_end_or_the_run_does() -> None:
    metrics = begun()
    for _ in range(3):
        metrics(ExchangeSent("candidate", "measure"))
    metrics(ExchangeDone("candidate", "measure", "timeout-read"))
    assert value(metrics, "specfuzz_requests_in_flight", arm="candidate") == 2
    assert value(metrics, "specfuzz_exchanges_total", arm="candidate", outcome="timeout-read") == 1
    metrics(RunFinished(factory.failing()))
    assert value(metrics, "specfuzz_requests_in_flight", arm="candidate") == 0


def test_a_leg_leaves_its_verdict_its_speed_and_its_acceptance() -> None:
    metrics = begun()
    assert values(metrics, "specfuzz_leg_running") == {
        (("concurrency", "8"), ("purpose", "sweep"), ("schedule", "closed-loop")): 1
    }
    metrics.leg_ended(leg(counts(0, 40, acceptance=3.5, speed=120)))
    assert values(metrics, "specfuzz_leg_running") == {}
    assert value(metrics, "specfuzz_legs_total", outcome="pass") == 1
    assert value(metrics, "specfuzz_acceptance_length_tokens", **LABELS) == 3.5
    speeds = [
        value(metrics, "specfuzz_output_tokens_per_second", **LABELS, arm=arm) for arm in ("candidate", "reference")
    ]
    assert speeds == [120, 60]
    metrics.leg_ended(leg(counts(0, 40, acceptance=None, speed=None)))
    assert value(metrics, "specfuzz_acceptance_length_tokens", **LABELS) == 3.5


def test_a_series_begins_at_zero_so_that_its_first_rise_is_seen() -> None:
    metrics = begun()
    assert judged(metrics) == (0, 0)
    assert value(metrics, "specfuzz_findings_total", kind="bleed", certainty="certain", arm="candidate") == 0


def test_findings_are_counted_by_kind_and_certainty() -> None:
    metrics = begun()
    metrics(FindingSeen(factory.bleed()))
    metrics(FindingSeen(factory.bleed()))
    assert value(metrics, "specfuzz_findings_total", kind="bleed", certainty="certain", arm="candidate") == 2


def test_an_outage_counts_once_however_often_it_is_told() -> None:
    metrics = NightMetrics()
    for open_ in (True, True, False, True):
        metrics.outage("candidate", open_)
    assert value(metrics, "specfuzz_outages_total", end="candidate") == 2
    assert value(metrics, "specfuzz_outage_open", end="candidate") == 1


def test_one_verdict_stands_out_once_it_is_in() -> None:
    metrics = NightMetrics()
    assert set(values(metrics, "specfuzz_verdict").values()) == {0}
    metrics.verdict("inconclusive")
    said = {labels[0][1]: up for labels, up in values(metrics, "specfuzz_verdict").items()}
    assert {name for name, up in said.items() if up} == {"inconclusive"}
    assert len(said) == 5


def test_progress_is_when_something_last_ended() -> None:
    now = 1000.0
    metrics = NightMetrics(clock=lambda: now)
    now = 1060.0
    metrics(ExchangeSent("candidate", "measure"))
    assert value(metrics, "specfuzz_last_progress_timestamp_seconds") == 1000
    exchange_ends(metrics)
    assert value(metrics, "specfuzz_last_progress_timestamp_seconds") == 1060


def test_what_a_server_or_a_plan_says_cannot_add_series_without_end() -> None:
    metrics = begun()
    for index in range(500):
        metrics(ExchangeDone(f"arm {index}", "measure", f"outcome {index}"))
        metrics.outage(f"end {index}", True)
    assert value(metrics, "specfuzz_exchanges_total", arm=OTHER, outcome=OTHER) == 500
    assert len(values(metrics, "specfuzz_outage_open")) < 100


# --- what Prometheus asks for


def test_the_page_is_read_as_it_was_meant() -> None:
    metrics = busy()
    read = list(text_string_to_metric_families(generate_latest(metrics.registry).decode()))
    meant = {each.name.removesuffix("_total"): each for each in METRICS.values()}
    assert {family.name: (family.type, family.documentation) for family in read} == {
        name: (each.kind, each.help) for name, each in meant.items()
    }
    for family in read:
        assert family.samples, family.name
        for sample in family.samples:
            assert sample.name == meant[family.name].name
            assert set(sample.labels) == set(meant[family.name].labels)


def test_the_openmetrics_page_is_read_as_well() -> None:
    page = exposition.generate_latest(busy().registry).decode()  # type: ignore[no-untyped-call]  # it has no types
    read = parser.text_string_to_metric_families(page)  # type: ignore[no-untyped-call]  # as above
    assert {family.name for family in read} == {name.removesuffix("_total") for name in METRICS}


# The rules of `promtool check metrics` (promlint, in Prometheus' client for Go) that concern counters and gauges.
BASE_UNITS = "seconds bytes meters metres grams joules kelvin celsius volts amperes ratio"
OTHER_UNITS = (
    "milliseconds microseconds nanoseconds minutes hours days weeks kilobytes megabytes gigabytes kibibytes mebibytes "
    "gibibytes bits kilobits percent fahrenheit kilometers miles"
)
SHORT_UNITS = "s ms us ns sec b kb mb gb tb pb m h d"


@pytest.mark.parametrize("name", METRICS)
def test_a_metric_obeys_the_linter(name: str) -> None:
    each = METRICS[name]
    words = name.split("_")
    assert name.startswith("specfuzz_")
    assert each.help.strip().endswith("."), "help is there"
    assert re.fullmatch(r"[a-z][a-z0-9_]*", name), "snake case, no colon"
    assert all(re.fullmatch(r"[a-z][a-z0-9_]*", label) and not label.startswith("__") for label in each.labels)
    assert (each.kind == "counter") == name.endswith("_total")
    assert not {"counter", "gauge", "histogram", "summary", "untyped"} & set(words), "no type in a name"
    assert not name.endswith(("_count", "_sum", "_bucket", "_created", "_info"))
    assert not {"le", "quantile"} & set(each.labels)
    assert not {*OTHER_UNITS.split(), *SHORT_UNITS.split()} & set(words), f"base units: {BASE_UNITS}"


def test_labels_are_the_few_that_are_bounded() -> None:
    allowed = {*LABELS, "kind", "certainty", "arm", "outcome", "end", "purpose"}
    assert {label for each in METRICS.values() for label in each.labels} <= allowed
