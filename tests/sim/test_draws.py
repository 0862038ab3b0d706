from __future__ import annotations

import itertools
import statistics

from fuzzer.sim.draws import fingerprint, normals, stream, uniforms


def test_draws_depend_on_key_and_numbers_only() -> None:
    assert uniforms(b"key", 1, 2) == uniforms(b"key", 1, 2)
    assert uniforms(b"key", 1, 2) != uniforms(b"key", 2, 1)
    assert uniforms(b"key", 1) != uniforms(b"other", 1)


def test_draws_fill_the_unit_interval() -> None:
    draws = list(itertools.islice(stream(b"key"), 8000))
    assert all(0 <= draw < 1 for draw in draws)
    assert abs(statistics.fmean(draws) - 0.5) < 0.02


def test_normals_are_standard() -> None:
    values = [value for place in range(2000) for value in normals(uniforms(b"key", place))]
    assert abs(statistics.fmean(values)) < 0.05
    assert abs(statistics.stdev(values) - 1) < 0.05


def test_fingerprint_takes_lone_surrogates() -> None:
    assert fingerprint("\ud800") != fingerprint("\udfff")
