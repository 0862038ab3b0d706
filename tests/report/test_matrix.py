"""The table of concurrency by lm_head precision."""

from __future__ import annotations

from fuzzer.report.markdown import markdown
from fuzzer.report.matrix import matrix

from . import factory


def test_a_single_head_needs_no_matrix() -> None:
    assert matrix(factory.passing()) is None


def test_rows_are_levels_and_columns_are_heads_with_counts_and_intervals() -> None:
    found = matrix(factory.two_heads())
    assert found is not None
    assert set(found.columns) == {"nvfp4", "bf16"}
    at_8 = next(line for line in found.failures if line[0].startswith("8"))
    assert "111/304 (36.5 %, 31.3 % to 42.1 %) FAIL" in at_8
    assert len(at_8) == 3


def test_the_markdown_shows_it_before_the_long_table() -> None:
    text = markdown(factory.two_heads())
    assert text.index("Failure rate by concurrency") < text.index("Failures by concurrency")
