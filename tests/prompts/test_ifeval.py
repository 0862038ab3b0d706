"""The verifiable instructions: for each, responses that hold to it and responses that do not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from fuzzer.history.records import Message, Prompt
from fuzzer.prompts.checks import ifeval
from fuzzer.prompts.checks.found import Found
from fuzzer.prompts.reply import Reply

SENTENCES = "The ferry is late. Nobody minds! Why should they?"
CASES: dict[str, list[tuple[dict[str, Any], list[str], list[str]]]] = {
    "keywords:existence": [
        ({"keywords": ["heron", "salt marsh"]}, ["A Heron lives in the SALT MARSH."], ["A heron lives here.", "none"]),
        ({"keywords": ["a+b", "C."]}, ["We know a+b and C. too"], ["aab and C"]),
    ],
    "keywords:frequency": [
        ({"keyword": "tide", "frequency": 2, "relation": "at least"}, ["Tide in, tide out."], ["The tide."]),
        (
            {"keyword": "tide", "frequency": 2, "relation": "less than"},
            ["The tide.", "Tidewater, tide."],
            ["tide tide"],
        ),
        ({"keyword": "(x)", "frequency": 1, "relation": "at least"}, ["f(x)"], ["f x"]),
    ],
    "keywords:forbidden_words": [
        ({"forbidden_words": ["sad", "BC"]}, ["A saddle, 40 abcs."], ["How SAD.", "40 bc"]),
    ],
    "keywords:letter_frequency": [
        ({"letter": "q", "let_frequency": 2, "let_relation": "at least"}, ["Quiet queue"], ["quiet"]),
        ({"letter": "W", "let_frequency": 2, "let_relation": "less than"}, ["we"], ["wow"]),
        ({"letter": "!", "let_frequency": 3.0, "let_relation": "at least"}, ["!!!"], ["!!"]),
    ],
    "language:response_language": [
        (
            {"language": "en"},
            ["The boat came in with the tide and there was nobody."],
            ["Das Boot ist nicht mit der Flut da und wir sind es."],
        ),
        ({"language": "ru"}, ["Он не был на реке, но это уже не так."], ["The boat was not there and it is late."]),
        ({"language": "hi"}, ["यह नदी बहुत लंबी है और यहाँ से दूर नहीं है।"], ["ही नदी खूप लांब आहे आणि ती इथे नाही."]),
        ({"language": "ja"}, ["船はまだ港に着いていません。"], ["船还没有到达港口，请再等一等吧。"]),
        ({"language": "zh"}, ["船还没有到达港口，请再等一等吧。"], ["船はまだ港に着いていません。"]),
        ({"language": "ko"}, ["배가 아직 항구에 도착하지 않았습니다."], ["The boat was not there and it is late."]),
    ],
    "length_constraints:number_sentences": [
        ({"num_sentences": 3, "relation": "at least"}, [SENTENCES, "One.\nTwo.\nThree."], ["One. Two."]),
        ({"num_sentences": 3, "relation": "less than"}, ["Mr. Ode met Dr. Fen.", "A title\n\nOne. Two."], [SENTENCES]),
        ({"num_sentences": 2, "relation": "at least"}, ["今日は雨です。明日は晴れです。"], ["今日は雨です。"]),
    ],
    "length_constraints:number_paragraphs": [
        (
            {"num_paragraphs": 2},
            ["One.\n***\nTwo.", "***\nOne.\n\n***\n\nTwo.\n***", "A ***big*** one\n***\nTwo"],
            ["One.", "a\n***\n***\nb", "a***b***c"],
        ),
        ({"num_paragraphs": 1}, ["One."], ["One\n***\nTwo"]),
    ],
    "length_constraints:number_words": [
        ({"num_words": 4, "relation": "at least"}, ["one two three four", "don't do it"], ["one two three"]),
        ({"num_words": 4, "relation": "less than"}, ["one two three", "don't do it"], ["one two three four"]),
    ],
    "length_constraints:nth_paragraph_first_word": [
        (
            {"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "However"},
            ["First.\n\nHowever, second.", "First.\n \n\n**however** second"],
            ["However, first.\n\nSecond.", "a\n\nb\n\nHowever", "However"],
        ),
    ],
    "detectable_content:number_placeholders": [
        ({"num_placeholders": 2}, ["Dear [name], of [town]."], ["Dear [name].", "[] []", "[name town"]),
    ],
    "detectable_content:postscript": [
        (
            {"postscript_marker": "P.S."},
            ["Bye.\nP.S. Write!", "Bye. p. s. write", "PS: write"],
            ["Bye.", "laps.", "P.P.S. no"],
        ),
        ({"postscript_marker": "P.P.S"}, ["Bye.\nP.P.S. Write!"], ["Bye.\nP.S. Write!"]),
        ({"postscript_marker": "Note:"}, ["Bye. NOTE: write"], ["Bye"]),
    ],
    "detectable_format:number_bullet_lists": [
        (
            {"num_bullets": 2},
            ["* one\n* two", "Here:\n - one\n - two\n", "*one\n*two", "• one\n• two"],
            ["* one", "* a\n- b\n* c", "---\n***"],
        ),
    ],
    "detectable_format:constrained_response": [
        (
            {},
            ["My answer is yes.", "Well, my answer is MAYBE"],
            ["Yes.", "My answer is yes. My answer is no.", "My answer is perhaps."],
        ),
    ],
    "detectable_format:number_highlighted_sections": [
        ({"num_highlights": 2}, ["*one* and **two**"], ["*one* two", "** **", "* one\n* two"]),
    ],
    "detectable_format:multiple_sections": [
        (
            {"section_spliter": "SECTION", "num_sections": 2},
            ["SECTION 1\na\nSECTION 2\nb", "## Section 1:\nSection 2"],
            ["SECTION 1 a", "SECTIONS 2 and 3"],
        ),
    ],
    "detectable_format:json_format": [
        (
            {},
            ['{"a": [1, 2]}', '```json\n{"a": 1}\n```', "```\n[]\n```"],
            ["a: 1", 'Here: {"a": 1}', '{"a": 1', "[" * 100_000],
        ),
    ],
    "detectable_format:title": [
        ({}, ["<<Ode>>\ntext", "text << Ode to salt >>"], ["<Ode>", "<< >>", "<<Ode\n>>"]),
    ],
    "combination:two_responses": [
        ({}, ["One\n******\nTwo", "******One******Two******"], ["One", "One******One", "a******b******c"]),
    ],
    "combination:repeat_prompt": [
        (
            {"prompt_to_repeat": "Say  why.\nNow."},
            ["Say why. Now.\n\nBecause.", '"say why. now."'],
            ["Because.", "I say why. Now."],
        ),
        ({}, ["The whole prompt? Yes."], ["Yes."]),
    ],
    "startend:end_checker": [
        (
            {"end_phrase": "Any more questions?"},
            ["So be it. any more questions?", '"Hm. Any more questions?"', "Hm. **Any more questions**"],
            ["Any more questions? No."],
        ),
    ],
    "startend:quotation": [({}, ['"All of it."', "“All of it.”\n"], ['"Some" of it.', '"', "All."])],
    "change_case:capital_word_frequency": [
        ({"capital_frequency": 2, "capital_relation": "at least"}, ["A BIG one", "WELL-KNOWN"], ["Big one"]),
        ({"capital_frequency": 2, "capital_relation": "less than"}, ["WELL-KNOWN", "A big one"], ["A BIG one"]),
    ],
    "change_case:english_capital": [
        ({}, ["ALL OF IT, 3 TIMES."], ["ALL of it", "123", "DAS BOOT IST NICHT DA UND WIR SIND MIT DEM BOOT"])
    ],
    "change_case:english_lowercase": [
        ({}, ["all of it, 3 times."], ["All of it.", "123", "das boot ist nicht da und wir sind mit dem boot"])
    ],
    "punctuation:no_comma": [({}, ["All; of it."], ["All, of it."])],
}
FLAT = [(name, *case) for name, cases in CASES.items() for case in cases]


def test_all_instructions_of_the_data_set_are_known() -> None:
    assert set(CASES) == ifeval.SUPPORTED
    assert len(ifeval.SUPPORTED) == 25


@pytest.mark.parametrize(("name", "kwargs", "good", "bad"), FLAT)
def test_an_instruction_tells_what_holds_to_it(
    name: str, kwargs: dict[str, Any], good: list[str], bad: list[str]
) -> None:
    padded = {**dict.fromkeys(("num_words", "keywords", "letter", "prompt_to_repeat")), **kwargs}
    ifeval.validate(name, padded)
    assert [said for said in good if not ifeval.verify(name, padded, "The whole prompt?", said)] == []
    assert [said for said in (*bad, "", " \n") if ifeval.verify(name, padded, "The whole prompt?", said)] == []


@pytest.mark.parametrize(
    ("name", "kwargs", "why"),
    [
        ("keywords:existance", {}, "keywords:existence"),
        ("", {}, "no such instruction"),
        ("keywords:existence", {}, "keywords is missing"),
        ("keywords:existence", {"keywords": None}, "keywords is missing"),
        ("keywords:existence", {"keywords": []}, "list of texts"),
        ("keywords:existence", {"keywords": "tide"}, "list of texts"),
        ("keywords:existence", {"keywords": ["tide", 3]}, "list of texts"),
        ("length_constraints:number_words", {"num_words": "3", "relation": "at least"}, "whole number"),
        ("length_constraints:number_words", {"num_words": 3.5, "relation": "at least"}, "whole number"),
        ("length_constraints:number_words", {"num_words": True, "relation": "at least"}, "whole number"),
        ("length_constraints:number_words", {"num_words": -1, "relation": "at least"}, "whole number"),
        ("length_constraints:number_words", {"num_words": 3, "relation": "at most"}, "less than"),
        ("length_constraints:number_words", {"num_words": 3}, "relation is missing"),
        (
            "keywords:letter_frequency",
            {"letter": "ab", "let_frequency": 1, "let_relation": "at least"},
            "one character",
        ),
        ("language:response_language", {"language": "German!"}, "code of a language"),
        ("startend:end_checker", {"end_phrase": " "}, "not empty"),
    ],
)
def test_what_cannot_be_checked_is_refused_with_the_reason(name: str, kwargs: Mapping[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why) as refused:
        ifeval.validate(name, kwargs)
    assert "\n" not in str(refused.value)


def found(said: str, *instructions: tuple[str, dict[str, Any]], decoys: tuple[str, ...] = ()) -> Found:
    listed: list[Any] = [{"id": name, "kwargs": kwargs} for name, kwargs in instructions]
    prompt = Prompt(
        id="p0",
        family="corpus/x",
        level="hard",
        messages=(Message(role="user", content="Describe the harbour."),),
        answer="",
        spec={"instructions": listed, "decoys": list(decoys)},
    )
    return ifeval.extract(prompt, Reply.of(said))


NO_COMMA: tuple[str, dict[str, Any]] = ("punctuation:no_comma", {})
LOWER: tuple[str, dict[str, Any]] = ("change_case:english_lowercase", {})
GERMAN: tuple[str, dict[str, Any]] = ("language:response_language", {"language": "de"})


def test_a_reply_that_keeps_all_instructions_is_right() -> None:
    assert found("boats come and go.", NO_COMMA, LOWER) == Found("right")
    assert found("<think>Hm, let me see.</think>boats come and go.", NO_COMMA, LOWER) == Found("right")


@pytest.mark.parametrize("said", ["Sure!\nboats come.", "boats come.\nHope That Helps", "Sure!\nboats come.\nBye"])
def test_words_around_an_answer_that_keeps_them_are_forgiven(said: str) -> None:
    assert found(said, LOWER) == Found("verbose")


def test_a_broken_instruction_is_named() -> None:
    broken = found("boats come, and go.", LOWER, NO_COMMA)
    assert (broken.value, broken.sub_kind) == ("wrong", "dropped-constraint")
    assert "punctuation:no_comma" in broken.note


def test_strange_content_explains_a_broken_instruction() -> None:
    assert found("Silverbrook Harborgate, of course.", NO_COMMA).sub_kind == "another-question"
    assert found("It is Brass, of course.", NO_COMMA, decoys=("brass",)).sub_kind == "wrong-last-message"


def test_a_language_that_cannot_be_told_is_not_judged() -> None:
    assert found("Ja.", GERMAN).value == "none"
    assert found("Ja. " * 3 + "Nein, nein.", GERMAN, NO_COMMA).sub_kind == "dropped-constraint"
    assert found("Xylo qabba durrum plex odir.", ("language:response_language", {"language": "tlh"})).value == "none"


SAMPLES = {
    "de": "Der Hafen ist nicht weit von hier, und die Boote sind auch im Winter da.",
    "fr": "Le port est dans une baie, et les bateaux ne sont pas loin avec ce vent.",
    "es": "El puerto está en la bahía, pero los barcos no son muy grandes y hay niebla.",
    "pt": "O porto não é longe da baía, mas os barcos são muito pequenos e há névoa.",
    "it": "Il porto non è lontano, ma le barche sono anche più piccole della nave.",
    "nl": "De haven is niet ver van hier, maar de boten zijn ook in de winter op het water.",
    "pl": "Port nie jest daleko, ale łodzie są też na wodzie, jak to było w zimie.",
    "fi": "Satama ei ole kaukana, mutta veneet ovat myös talvella vedessä ja se on hyvä.",
    "sv": "Hamnen är inte långt från oss, och båtarna ligger också i vattnet till våren.",
    "tr": "Liman çok uzak değil ama bu tekneler için kışın da var olan bir yer.",
    "vi": "Bến cảng không xa và những con thuyền cũng được để ở trong vịnh này.",
    "sw": "Bandari si mbali na mji, lakini watu wa hapa pia ni wavuvi kama sisi.",
    "ru": "Порт не так далеко, и все лодки уже были там, но это не для нас.",
    "uk": "Порт не так далеко, і всі човни вже були там, але це не для нас.",
    "bg": "Пристанището не е далеч и лодките са там, но това не е за нас, а за него.",
    "ar": "الميناء ليس بعيدا عن هذا المكان و كل القوارب التي في البحر هي من هنا",
    "fa": "بندر از این شهر دور نیست و قایق‌ها را برای ما در آن می‌سازند",
    "ur": "بندرگاہ اس شہر سے دور نہیں ہے اور یہ کشتیاں بھی ہم نے ہی بنائی ہیں",
    "hi": "बंदरगाह इस शहर से दूर नहीं है और यह नावें भी वहाँ की हैं",
    "mr": "बंदर या गावापासून दूर नाही आणि त्या होड्या इथे आहेत पण नवीन नाही",
    "ta": "துறைமுகம் இங்கிருந்து தொலைவில் இல்லை",
    "th": "ท่าเรืออยู่ไม่ไกลจากที่นี่",
    "bn": "বন্দরটি এখান থেকে দূরে নয়",
    "el": "Το λιμάνι δεν είναι μακριά από εδώ",
    "he": "הנמל אינו רחוק מכאן",
    "ko": "항구는 여기서 멀지 않습니다 그리고 배가 있습니다",
    "ja": "港はここから遠くありませんし、船もあります。",
    "zh": "港口离这里不远，船也都在那里停着。",
}


@pytest.mark.parametrize("language", SAMPLES)
def test_a_sentence_is_of_its_language_and_of_no_other(language: str) -> None:
    kwargs = {"language": language}
    assert ifeval.verify("language:response_language", kwargs, "", SAMPLES[language])
    others = [other for other, said in SAMPLES.items() if other != language]
    taken = [other for other in others if ifeval.verify("language:response_language", kwargs, "", SAMPLES[other])]
    assert taken == []


HOSTILE = [
    "[",
    "*",
    "-",
    "\n",
    " ",
    ".",
    "<<",
    "{",
    '"',
    "a",
    "A, ",
    "P.",
    "```",
    "* \n",
    "\n\n",
    "***\n",
    "я",
    "\u200b",
]


@pytest.mark.parametrize("piece", HOSTILE)
def test_a_megabyte_of_anything_gets_an_answer(piece: str) -> None:
    text = piece * (1_000_000 // len(piece))
    listed = [(name, cases[0][0]) for name, cases in CASES.items()]
    assert found(text, *listed).value in ("wrong", "none")
    for name, kwargs in listed:
        ifeval.verify(name, kwargs, "", text)
