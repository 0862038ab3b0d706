from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fuzzer.sim.tokens import EOS, EOS_ID, prompt_ids, token_id, tokenize


@given(st.text(st.characters(exclude_categories=())))
def test_tokens_join_to_the_text(text: str) -> None:
    assert "".join(tokenize(text)) == text


def test_words_numbers_and_punctuation_are_tokens() -> None:
    assert tokenize("See QX7-2: 12345 red foxes.") == ["See", " QX7", "-", "2", ":", " 12345", " red", " foxes", "."]


def test_ids_are_stable_and_the_end_token_has_its_own() -> None:
    assert token_id(" red") == token_id(" red") != token_id("red")
    assert token_id(EOS) == EOS_ID


def test_prompt_ids_tell_roles_apart_and_share_prefixes() -> None:
    system = ("system", "Be brief.")
    first, second = prompt_ids([system, ("user", "one")]), prompt_ids([system, ("user", "two")])
    assert first != second
    assert first[:7] == second[:7]
    assert prompt_ids([("system", "x")]) != prompt_ids([("user", "x")])
