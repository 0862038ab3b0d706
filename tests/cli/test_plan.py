from __future__ import annotations

import json

from tests.cli.conftest import specfuzz


def test_sizes_and_time_are_told_without_contacting_anybody() -> None:
    result = specfuzz("plan", "--max-wrong-rate", "0.3%", "--cells", "3", "--rate", "12", "--json")
    assert result.status == 0
    sizes = json.loads(result.out)
    assert sizes["clean"] == 998
    assert sizes["cost"] == {"answers": 5988, "seconds": 499.0}


def test_a_mistake_is_one_line_and_exit_2() -> None:
    result = specfuzz("plan", "--confidence", "95")
    assert (result.status, result.out) == (2, "")
    assert result.err.startswith("specfuzz: --confidence: ")
