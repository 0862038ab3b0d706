from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuzzer.history.records import Canary
from fuzzer.oracles.content import ContentIndex, holds, words_of
from tests.oracles.factory import prompt

CANARY = Canary(channel="user", text="QX7K-M2PD")


def index_of_one() -> ContentIndex:
    index = ContentIndex()
    index.register(
        prompt(
            "p1", answer="Silverbrook Hazelgate", items=("Amberford Mossgate", "short"),
            canaries=(CANARY, Canary(channel="system", text="4821-7730-159268", cohort=True)),
        )
    )  # fmt: skip
    return index


@pytest.mark.parametrize(
    ("text", "sources"),
    [
        ("It is QX7K-M2PD.", ["user"]),
        ("(qx7k-m2pd)", ["user"]),
        ("QX7K\u2011M2PD", ["user"]),
        ("QX\u200b7K-M2\u00adPD", ["user"]),
        ("AQX7K-M2PD and QX7K-M2PDX", []),
        ("QX7K M2P D", []),
        ("group 4821-7730-159268", ["cohort"]),
        ("14821-7730-159268", []),
        ("amberford  MOSSGATE", ["items"]),
        ("Amberford Mossgates", []),
        ("short", []),
        ("**Silverbrook Hazelgate**, QX7K-M2PD", ["answer", "user"]),
        ("", []),
    ],
)
def test_content_is_found_at_word_boundaries_only(text: str, sources: list[str]) -> None:
    assert [hit.source for hit in index_of_one().scan(text)] == sources


def test_a_hit_names_its_owner_and_the_text_as_the_prompt_has_it() -> None:
    (hit,) = index_of_one().scan("so: qx7k-m2pd")
    assert (hit.span, list(hit.owners)) == ("QX7K-M2PD", ["p1"])


def test_a_text_that_comes_twice_is_one_hit_and_registering_twice_changes_nothing() -> None:
    index = index_of_one()
    index.register(prompt("p1", canaries=(CANARY, Canary(channel="user", text="NEW1-NEW2"))))
    assert len(list(index.scan("QX7K-M2PD QX7K-M2PD NEW1-NEW2"))) == 1


def test_content_that_several_prompts_own_names_them_all() -> None:
    index = ContentIndex()
    for name in ("a", "b", "c"):
        index.register(prompt(name, items=("Amberford Mossgate",), attributable=False))
    (hit,) = index.scan("Amberford Mossgate")
    assert list(hit.owners) == ["a", "b", "c"]


def test_one_text_can_be_one_prompts_item_and_anothers_answer() -> None:
    index = ContentIndex()
    index.register(prompt("a", items=("Amberford Mossgate",)))
    index.register(prompt("b", answer="Amberford Mossgate"))
    assert {(hit.source, *hit.owners) for hit in index.scan("Amberford Mossgate")} == {("items", "a"), ("answer", "b")}


def test_answers_of_families_without_unique_answers_are_not_looked_up() -> None:
    index = ContentIndex()
    index.register(prompt("a", answer="Silverbrook Hazelgate", attributable=False))
    assert list(index.scan("Silverbrook Hazelgate")) == []


@settings(deadline=None)
@given(st.text(), st.text())
def test_a_canary_is_found_in_any_text_that_holds_it_apart(before: str, after: str) -> None:
    assert "user" in [hit.source for hit in index_of_one().scan(f"{before} QX7K-M2PD {after}")]
    assert holds(f"{before} QX7K-M2PD {after}", "qx7k m2pd")


@settings(deadline=None)
@given(st.text())
def test_words_are_letters_and_digits_only(text: str) -> None:
    assert all(word.isalnum() for word in words_of(text))


def test_a_long_text_and_many_prompts() -> None:
    index = ContentIndex()
    for number in range(3000):
        name = f"Amberford Moss{number}gate"
        index.register(
            prompt(f"p{number}", items=(name,), canaries=(Canary(channel="user", text=f"QX7K-{number:04}"),))
        )
    text = "Amberford QX7K lorem ipsum " * 20_000 + "Amberford Moss7gate QX7K-0009"
    assert [list(hit.owners) for hit in index.scan(text)] == [["p7"], ["p9"]]
