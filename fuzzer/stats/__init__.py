"""How sure we are: intervals, paired tests, the sequential test, sample sizes."""

from __future__ import annotations

from fuzzer.stats.clusters import (
    ClusterBound,
    ClusterInterval,
    cluster_bootstrap,
    cluster_bound,
    counted_effect,
    design_effect,
)
from fuzzer.stats.exact import Paired, Unpaired, boschloo, fisher, holm, mcnemar, pair_up, unpaired
from fuzzer.stats.flips import falling
from fuzzer.stats.intervals import clopper_pearson_lower, clopper_pearson_upper, rule_out, wilson
from fuzzer.stats.planning import (
    FixedTest,
    detection_chance,
    fixed_test,
    mcnemar_pairs,
    mcnemar_power,
    requests_needed,
)
from fuzzer.stats.ratios import RateRatio, rate_ratio
from fuzzer.stats.sequential import Decision, Ending, Sprt
from fuzzer.stats.trend import rising

__all__ = [
    "ClusterBound",
    "ClusterInterval",
    "Decision",
    "Ending",
    "FixedTest",
    "Paired",
    "RateRatio",
    "Sprt",
    "Unpaired",
    "boschloo",
    "clopper_pearson_lower",
    "clopper_pearson_upper",
    "cluster_bootstrap",
    "cluster_bound",
    "counted_effect",
    "design_effect",
    "detection_chance",
    "falling",
    "fisher",
    "fixed_test",
    "holm",
    "mcnemar",
    "mcnemar_pairs",
    "mcnemar_power",
    "pair_up",
    "rate_ratio",
    "requests_needed",
    "rising",
    "rule_out",
    "unpaired",
    "wilson",
]
