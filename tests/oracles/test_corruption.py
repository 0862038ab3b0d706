from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuzzer.finding import Finding
from fuzzer.history.messages import Tool, ToolCall, Wants
from fuzzer.history.records import Exchange, Prompt
from fuzzer.history.schedule import AS_PLANNED, Overrides
from fuzzer.oracles.corruption import DETECTORS, flaws, judge
from fuzzer.oracles.flaws import Reply
from tests.oracles.factory import World, exchange, prompt

PROMPT = "Which harbour did the captain remember, Silverbrook or Hazelgate?"


def found(text: str, prompt: str = PROMPT, *, whole: bool = True, parsed: bool = False) -> list[tuple[str, str]]:
    reply = Reply(text, prompt, whole=whole, stopped=whole, parsed=parsed)
    return [(flaw.sub_kind, flaw.certainty) for flaw in flaws(reply)]


CALL = '<tool_call>\n{"name": "look_up", "arguments": {"topic": "tides"}}\n</tool_call>'


@pytest.mark.parametrize(
    ("text", "calls", "expected"),
    [
        (CALL, True, [("tool-markup", "certain")]),
        (CALL, False, [("tool-markup", "likely")]),
        ("<tool_call>\nlook it up</tool_call>", True, [("tool-markup", "likely")]),
        (CALL[: CALL.index("{", 20)], True, [("tool-markup", "likely")]),  # cut off: no parser takes it out
        ("I would call look_up.", True, []),
    ],
)
def test_the_markup_of_a_call_is_certain_where_the_parser_takes_others_out(
    text: str, calls: bool, expected: list[tuple[str, str]]
) -> None:
    assert [(flaw.sub_kind, flaw.certainty) for flaw in flaws(Reply(text, PROMPT, calls=calls))] == expected
    assert list(flaws(Reply(text, PROMPT + text, calls=calls))) == []


def test_reasoning_in_the_content_is_certain_where_the_endpoint_gives_it_a_channel_elsewhere() -> None:
    leaked = exchange("p", "<think>Let me see.</think>\nSilverbrook")
    other = exchange("q", "Hazelgate", reasoning="Let me see.", index=1)
    world = World((prompt("p", user=PROMPT), prompt("q", user=PROMPT)), (leaked, other))
    assert [(one.exchange, one.sub_kind, one.certainty) for one in judge(world.batch, world.context())] == [
        (leaked.key, "special-token", "certain")
    ]
    assert findings(leaked) == []


def test_a_call_that_a_limit_or_a_stop_string_cut_off_is_nothing() -> None:
    cut = CALL[: CALL.index("{", 20)]
    assert list(flaws(Reply(cut, PROMPT, whole=False, stopped=False, calls=True))) == []
    assert [one.certainty for one in flaws(Reply(CALL, PROMPT, whole=False, stopped=False, calls=True))] == ["certain"]


def test_a_call_in_the_text_is_certain_only_where_the_request_offered_functions() -> None:
    """A neighbour may ask a tool prompt for JSON instead: then no parser is on, and the model may write a call."""
    tool = Tool(name="look_up", description="Look up.", parameters={"type": "object"})
    asked = prompt("p", user=PROMPT).model_copy(update={"wants": Wants(tools=(tool,))})
    instead = Overrides(wants=Wants(json_schema={"type": "object"}))
    parsed = exchange("p", calls=(ToolCall(name="look_up", arguments="{}"),), finish="tool_calls")
    for overrides, expected in ((AS_PLANNED, "certain"), (instead, "likely")):
        world = World((asked,), (parsed, exchange("p", CALL, index=1, overrides=overrides)))
        assert [(one.sub_kind, one.certainty) for one in judge(world.batch, world.context())] == [
            ("tool-markup", expected)
        ]


def findings(one: Exchange, known: Prompt | None = None) -> list[Finding]:
    world = World((known or prompt("p", user=PROMPT),), (one,))
    return list(judge(world.batch, world.context()))


CLEAN = [
    "The captain remembered Silverbrook.",
    "1. Amber\n2. Basil\n3. Cedar\n\n| a | b |\n| --- | --- |\n| 1 | 2 |",
    "-" * 120,
    "```python\nif a < b and c > d:\n    print(x[1], y['INST'])\n```",
    '{"name": "Silverbrook", "list": [1, 2, 3], "empty": {}}',
    "<s>struck</s> and <b>bold</b>, a <| b, c |> d",
    "Café, naïve, Ångström, Øresund, Zürich, ½ µm, 5 kΩ, ΔT = αx, Σ, π ≈ 3.14, x² → ∞",
    "no no no, never never",
    "<think>Let me see.</think>\nSilverbrook",
    "Let me see.</think>\nSilverbrook",
    "[Note] The answer is Silverbrook",
    "An emoji 😀 and a flag 🇳🇴, a family 👨\u200d👩\u200d👧",
    "Mississippi banana murmur Tartar hotshots",
    "0, 0, 0, 0, 1, 0, 0, 0",
    "",
    "   \n\t\r\n",
]


@pytest.mark.parametrize("text", CLEAN)
def test_clean_texts_are_clean(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize(
    "token",
    [
        "<|im_end|>", "<|eot_id|>", "<|endoftext|>", "<|start_header_id|>", "<｜end▁of▁sentence｜>",
        "[INST]", "[/INST]", "<pad>", "<unk>", "</s>", "<s>", "<start_of_turn>", "<unused12>", "<0x0A>", "<<SYS>>",
        "<fim_middle>",
    ],
)  # fmt: skip
def test_special_tokens_as_text_are_certain_unless_the_prompt_has_them(token: str) -> None:
    assert found(f"Silverbrook{token} and more") == [("special-token", "certain")]
    assert found(f"Silverbrook{token}", f"What does {token} mean?") == []


@pytest.mark.parametrize("token", ["[PAD]", "[MASK]"])
def test_tokens_that_texts_on_models_mention_are_only_likely(token: str) -> None:
    assert found(f"a {token} b") == [("special-token", "likely")]


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("Silverbrook <think> hm", False),
        ("<think>a</think>b</think>", False),
        ("<think>a</think><think>b</think>", False),
        ("<think>", True),
        ("so</think> Silverbrook", True),
    ],
)
def test_reasoning_markers_out_of_place_are_certain(text: str, parsed: bool) -> None:
    assert found(text, parsed=parsed) == [("special-token", "certain")]
    assert found(text, "Write <think> and </think>.", parsed=parsed) == []


@pytest.mark.parametrize("character", ["\x00", "\x01", "\x08", "\x0b", "\x1b", "\x1f"])
def test_control_characters_are_certain_but_for_tabs_and_line_ends(character: str) -> None:
    assert found(f"Silver{character}brook") == [("control-character", "certain")]
    assert found(f"Silver{character}brook", f"What is {character}?") == []


def test_broken_encoding_is_certain_but_for_half_a_character_at_a_cut() -> None:
    assert found("Silver\ufffdbrook") == [("invalid-encoding", "certain")]
    assert found("Silverbrook\ufffd") == [("invalid-encoding", "certain")]
    assert found("Silverbrook \ud83d") == [("invalid-encoding", "certain")]
    assert found("Silverbrook\ufffd", whole=False) == []
    assert found("Silver\ufffdbrook\ufffd", whole=False) == [("invalid-encoding", "certain")]
    assert found("Silverbrook\ufffd", "What is \ufffd?") == []


@pytest.mark.parametrize(
    ("text", "sub_kind"),
    [
        ("The answer is" + "!" * 60, "one-token-run"),
        ("\n" * 500, "one-token-run"),
        ("harbour " + "the captain said " * 20, "loop"),
        ("Silverbrook lies north of the bay and west of the river. " * 6, "loop"),
        ("intro text " + ("A line of its own that is rather long, number one.\nAnd another one!\n" * 5), "loop"),
        ("ha" * 60, "one-token-run"),
        ("no, " * 30, "loop"),
        (("=" * 70 + "\n") * 10, "loop"),
    ],
)
def test_loops_and_runs_are_likely_unless_the_prompt_has_them(text: str, sub_kind: str) -> None:
    assert found(text) == [(sub_kind, "likely")]
    assert found(text, f"Repeat: {text * 2}") == []


@settings(deadline=None)
@given(st.text("abcdefgh ,.", min_size=3, max_size=40), st.integers(0, 200), st.randoms(use_true_random=False))
def test_a_unit_that_comes_again_and_again_is_found_wherever_it_begins(
    unit: str, lead: int, rng: random.Random
) -> None:
    before = "".join(rng.choice("ijklmnopqrstuvw") for _ in range(lead))
    text = before + unit * (400 // len(unit) + 10)
    assert {kind for kind, _ in found(text, "")} & {"loop", "one-token-run"}


@settings(deadline=None)
@given(st.integers())
def test_random_words_are_no_loop(seed: int) -> None:
    rng = random.Random(seed)
    text = " ".join("".join(rng.choice("abcdefghijklmnop") for _ in range(rng.randint(2, 9))) for _ in range(400))
    assert not {kind for kind, _ in found(text, "")} & {"loop", "one-token-run"}


def test_a_doubled_syllable_counts_only_in_a_word_of_the_prompt() -> None:
    assert found("Silverbrookbrook") == [("doubled-syllable", "likely")]
    assert found("to rememember", "to forget") == []
    assert found("EQNU-7XK27XK2", "code EQNU-7XK2") == [("doubled-syllable", "likely")]
    assert found("158548548", "tag 158548") == [("doubled-syllable", "likely")]
    assert found("12341212 and 4848 and 123434", "1234, 48 and 12") == []
    assert found("to rememember", "remember") == [("doubled-syllable", "likely")]
    assert found("Silverbrookbrook", PROMPT + " Silverbrookbrook") == []
    assert found("banananas") == []


@pytest.mark.parametrize(
    "text", ["Silverbrook 信", "infor信mation", "Das ist ключ", "שלום", "안녕", "ありがとう", "λόγος"]
)
def test_letters_of_another_script_are_likely_unless_the_prompt_uses_it(text: str) -> None:
    assert found(text) == [("script-switch", "likely")]
    assert found(text, f"Say {text[-3:]} {text}") == []


@pytest.mark.parametrize("word", ["S\u0456lverbrook", "\u041dazelgate", "capt\u03bfin"])
def test_look_alike_letters_inside_a_word_are_likely(word: str) -> None:
    assert found(f"It is {word}.") == [("look-alike", "likely")]
    assert found(f"It is {word}.", f"Is it {word}?") == []


@pytest.mark.parametrize("text", ['{"name": "Silver', '[1, 2, {"a": 3}, ', "```json\n{}"])
def test_a_reply_that_breaks_off_though_it_stopped_is_likely_truncated(text: str) -> None:
    assert found(text) == [("truncation", "likely")]
    assert found(text, whole=False) == []


def test_every_channel_of_a_reply_is_looked_at_and_named() -> None:
    one = exchange("p", "a <|im_end|>", reasoning="b [INST]", tool_arguments="c\x00")
    assert [(finding.evidence["in"], finding.key) for finding in findings(one)] == [
        ("content", "corruption/special-token/<|im_end|>@candidate"),
        ("reasoning", "corruption/special-token/[INST]@candidate"),
        ("tool arguments", "corruption/control-character@candidate"),
    ]


def test_arguments_that_break_off_though_the_call_ended_are_likely_truncated() -> None:
    keys = [one.key for one in findings(exchange("p", tool_arguments='{"name": "Silver', finish="tool_calls"))]
    assert keys == ["corruption/truncation@candidate"]
    assert findings(exchange("p", tool_arguments='{"name": "Silver"}\n{"a": 1}', finish="tool_calls")) == []
    assert findings(exchange("p", tool_arguments='{"name": "Silver', finish="length")) == []


def test_reasoning_may_bring_its_own_markers() -> None:
    assert findings(exchange("p", "Silverbrook", reasoning="<think>\nhm\n</think>")) == []


def test_half_a_character_at_the_limit_is_clean_and_a_body_that_is_no_text_is_not() -> None:
    assert findings(exchange("p", "Silver\ufffd", finish="length")) == []
    assert [one.certainty for one in findings(exchange("p", "Silver\ufffd"))] == ["certain"]
    (finding,) = findings(exchange("p", outcome="bad-encoding"))
    assert (finding.key, finding.certainty) == ("corruption/invalid-encoding@candidate", "certain")
    assert findings(exchange("p", lost=True)) == []


def test_what_came_before_a_failure_is_looked_at_too() -> None:
    assert [one.sub_kind for one in findings(exchange("p", "a<|im_end|>", outcome="disconnect"))] == ["special-token"]


def test_a_run_of_one_token_id_shows_even_without_text() -> None:
    assert [one.sub_kind for one in findings(exchange("p", "", ids=[5, 6] + [7] * 90))] == ["one-token-run"]
    assert findings(exchange("p", "", ids=[5, 6] * 90)) == []
    assert len(findings(exchange("p", "!" * 90, ids=[7] * 90))) == 1


def test_summaries_are_printable_whatever_the_text() -> None:
    for finding in findings(exchange("p", "\x1b[31m<|im_end|>\x00\ud800\u202e" + "!" * 1000)):
        assert finding.summary.isprintable()
        assert len(finding.summary) < 200
        assert Finding.model_validate_json(finding.model_dump_json()) == finding


@settings(deadline=None)
@given(st.text(st.characters(codec=None, exclude_categories=()), max_size=300), st.text(max_size=50))
def test_no_text_breaks_a_detector(text: str, given_text: str) -> None:
    for flaw in flaws(Reply(text, given_text)):
        assert 0 <= flaw.start <= len(text)


@settings(deadline=None)
@given(st.text(st.characters(codec=None, exclude_categories=()), max_size=100))
def test_what_stands_in_the_prompt_may_come_back(text: str) -> None:
    assert {kind for kind, _ in found(text, text)} <= {"truncation"}


@pytest.mark.parametrize(
    "unit", ["a", "<|", "[", "Ж", "汉字", "Жa", "bananabananac ", "</think>", "-" * 390 + "ab", "�", "abc" * 26 + "!"]
)
def test_a_megabyte_of_anything_is_judged(unit: str) -> None:
    text = unit * (1_000_000 // len(unit))
    for detector in DETECTORS:
        assert len(list(detector(Reply(text, PROMPT)))) <= 8
