from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuzzer.wire.bounds import BadReplyError, Limits
from fuzzer.wire.decode import decode, decode_leniently

LIMITS = Limits()


def outcome(data: bytes) -> str:
    with pytest.raises(BadReplyError) as caught:
        decode(data, LIMITS)
    return caught.value.outcome


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", "bad-json"),
        (b"{", "bad-json"),
        (b"[NaN]", "bad-json"),
        (b"[-Infinity]", "bad-json"),
        (b'"a\x00b"', "bad-json"),
        (b"1" * 5000, "bad-json"),
        (b"{} trailing", "bad-json"),
        (b'"\xff"', "bad-encoding"),
        (b'"\xed\xa0\x80"', "bad-encoding"),
        (b"[" * 100_000, "too-large"),
        (b'{"a":' * 1000 + b"1" + b"}" * 1000, "too-large"),
    ],
)
def test_what_is_no_json_is_refused_with_its_reason(data: bytes, expected: str) -> None:
    assert outcome(data) == expected


@pytest.mark.parametrize("depth", [64, 65])
@pytest.mark.parametrize("leaf", ['"]]"', r'"\""', r'"\\"', r'"[[[[\n"'])
def test_nesting_is_counted_exactly_and_not_inside_strings(depth: int, leaf: str) -> None:
    data = (f'[{{"k":[[[[[[[["[[[[[["]]]]]]]]}},{"[" * (depth - 1)}{leaf}{"]" * depth}').encode()
    if depth <= 64:
        assert decode(data, LIMITS) == json.loads(data)
    else:
        assert outcome(data) == "too-large"


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.text()
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda children: st.lists(children) | st.dictionaries(st.text(), children),
    max_leaves=60,
)


@settings(deadline=None)
@given(value=JSON, ascii_only=st.booleans())
def test_json_comes_through_unchanged(value: object, ascii_only: bool) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only)
    try:
        data = text.encode()
    except UnicodeEncodeError:
        data = json.dumps(value).encode()
    assert decode(data, LIMITS) == value


@settings(deadline=None)
@given(st.binary(max_size=200) | st.text(alphabet='[]{}",:\\1ntN ', max_size=80).map(str.encode))
def test_no_bytes_raise_anything_else(data: bytes) -> None:
    try:
        decode(data, Limits(json_depth=3))
    except BadReplyError as bad:
        assert bad.outcome in ("bad-json", "bad-encoding", "too-large")  # noqa: PT017  # both ways out are right
    decode_leniently(data)


def test_a_lenient_reading_has_null_for_what_json_lacks() -> None:
    assert decode_leniently(b'{"a": NaN, "b": [Infinity, 1]}') == {"a": None, "b": [None, 1]}
    assert decode_leniently(b"{") is None
