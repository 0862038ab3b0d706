from __future__ import annotations

from typing import Any

import pytest

from fuzzer.errors import UsageError
from fuzzer.sim.config import SimConfig
from fuzzer.sim.faults import FAULTS


def test_a_configuration_survives_the_pipe() -> None:
    config = SimConfig(
        speculative=True,
        lm_head="nvfp4",
        faults={"hang": 0.5},
        api_key="secret",
        ignores=("stop",),
        defaults={"temperature": 0.5},
        template="x",
        stale_metrics=True,
    )
    assert SimConfig.from_json(config.to_json()) == config


def test_the_key_is_not_shown() -> None:
    assert "secret" not in repr(SimConfig(api_key="secret"))


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"lm_head": "int3"}, "fp32, bf16, w4a16, fp8, nvfp4"),
        ({"faults": {"gremlin": 1.0}}, "row-swap"),
        ({"faults": {"hang": 1.5}}, "between 0 and 1"),
        ({"acceptance": -0.1}, "acceptance"),
        ({"k": 0}, "k is 0"),
        ({"port": 70000}, "port"),
        ({"ignores": ("humour",)}, "use one of temperature"),
        ({"defaults": {"top_k": 20}}, "use one of temperature"),
    ],
)
def test_bad_settings_are_named(fields: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        SimConfig(**fields)


def test_every_fault_has_a_summary_and_a_rate_that_a_gate_would_notice() -> None:
    assert all(fault.summary and 0.03 <= fault.default_rate <= 1 for fault in FAULTS.values())
