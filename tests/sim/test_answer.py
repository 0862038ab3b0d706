from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fuzzer.sim.answer import Slot, compile_answer, text_of

_words = st.text(max_size=12)
_slots = st.lists(st.builds(Slot, _words, st.lists(_words, max_size=10).map(tuple), st.booleans()))


@given(_slots)
def test_first_options_spell_the_answer(slots: list[Slot]) -> None:
    nodes = compile_answer(slots, b"key")
    assert "".join(token for node in nodes for token in node.options[0]) == text_of(slots)


@given(_slots)
def test_every_option_starts_with_a_token_of_its_own(slots: list[Slot]) -> None:
    for node in compile_answer(slots, b"key"):
        starts = [option[:1] for option in node.options]
        assert len(set(starts)) == len(starts) == len(node.gaps) == len(node.dither)
        assert node.gaps[0] == 0
        assert list(node.gaps) == sorted(node.gaps)


def test_what_options_share_is_said_before_the_decision() -> None:
    nodes = compile_answer([Slot("red fox", ("red hen",), content=True)], b"key")
    assert [node.options for node in nodes] == [(("red",),), ((" fox",), (" hen",))]


def test_content_is_better_separated_than_wording() -> None:
    wording, content = Slot("so", ("thus",)), Slot("fox", ("hen",), content=True)
    gaps = {
        kind: [compile_answer([slot], bytes([place]))[0].gaps[1] for place in range(200)]
        for kind, slot in {"wording": wording, "content": content}.items()
    }
    assert min(gaps["content"]) > 2
    assert 0.2 < sum(gap < 1 for gap in gaps["wording"]) / 200 < 0.5


def test_a_long_answer_is_decided_at_a_few_tokens() -> None:
    slots = [Slot(f" w{place}", (f" v{place}",), content=True) for place in range(40)]
    thin = [sum(node.gaps[-1] < 5 for node in compile_answer(slots, bytes([key]))) for key in range(50)]
    assert 3 < sum(thin) / 50 < 5
