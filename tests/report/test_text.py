from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from fuzzer.report.text import clean, literal


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("\x1b[31mred", "\\x1b[31mred"),
        ("\x1b]8;;http://x\x07link", "\\x1b]8;;http://x\\x07link"),
        ("\x9b31m", "\\x9b31m"),
        ("a\x00b", "a\\x00b"),
        ("one\ntwo\r\tthree", "one\\ntwo\\r\\tthree"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("a\u200bb\u200db\ufeffc", "a\\u200bb\\u200db\\ufeffc"),
        ("a\u00a0b\u2028c", "a\\xa0b\\u2028c"),
        ("blank\u3164\u2800", "blank\\u3164\\u2800"),
        ("tag\U000e0041 sel\ufe0f\U000e0100", "tag\\U000e0041 sel\\ufe0f\\U000e0100"),
        ("lone \ud800", "lone \\ud800"),
        ("kept: 世界 Привет e\u0301 \\n '", "kept: 世界 Привет e\u0301 \\n '"),
    ],
)
def test_what_hides_or_moves_is_spelled_out(raw: str, shown: str) -> None:
    assert clean(raw) == shown


def test_a_stack_of_combining_marks_is_cut_down() -> None:
    assert clean("e" + "\u0301" * 4) == "e\u0301\u0301\\u0301\\u0301"


def test_long_text_says_how_much_was_left_off() -> None:
    assert clean("x" * 10_000, limit=5) == "xxxxx... (+9,995 characters)"
    assert clean("xxxxx", limit=5) == "xxxxx"
    assert clean("ab\x1bcd", limit=4) == "ab... (+3 characters)"


@given(st.text(alphabet=st.characters(), max_size=60), st.integers(0, 80))
def test_whatever_comes_is_one_printable_line_of_bounded_length(raw: str, limit: int) -> None:
    shown = clean(raw, limit)
    assert all(char.isprintable() for char in shown)
    assert len(shown) <= limit + len("... (+60 characters)")


@pytest.mark.parametrize("raw", ["[bold]x[/bold]", "[/oops]", ":tada:", "\\[red]", "trailing \\", "[link=http://x]y"])
def test_markup_and_emoji_codes_are_shown_as_they_are(raw: str) -> None:
    screen = Console(file=io.StringIO(), force_terminal=True)
    with screen.capture() as capture:
        screen.print(literal(raw))
    assert capture.get() == f"{raw}\n"
