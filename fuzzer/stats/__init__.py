"""How sure we are: intervals, paired tests, the sequential test, sample sizes."""

from __future__ import annotations

from fuzzer.stats.exact import fisher, holm, mcnemar
from fuzzer.stats.intervals import (
    ClusterBound,
    clopper_pearson_lower,
    clopper_pearson_upper,
    cluster_bound,
    requests_needed,
    rule_out,
    wilson,
)
from fuzzer.stats.sequential import Decision, Ending, Sprt

__all__ = [
    "ClusterBound",
    "Decision",
    "Ending",
    "Sprt",
    "clopper_pearson_lower",
    "clopper_pearson_upper",
    "cluster_bound",
    "fisher",
    "holm",
    "mcnemar",
    "requests_needed",
    "rule_out",
    "wilson",
]
