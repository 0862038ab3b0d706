"""What a newcomer reads first: what was compared, what the words mean, why a leak is no wrong answer."""

from __future__ import annotations

import re

from fuzzer.report.page import html
from fuzzer.report.page.glossary import GLOSSARY, Glossary, anchor
from fuzzer.report.page.opening import leaks, opening
from fuzzer.report.page.tables import heat

from . import factory


def test_the_opening_says_what_was_compared_with_what() -> None:
    assert opening(factory.passing()) == (
        "Tested: candidate (Qwen/Qwen3-8B) with speculative decoding on, compared with the same model with it off."
    )
    assert opening(factory.no_reference()).endswith("compared with itself asked one request at a time.")
    candidate, reference = factory.pair()
    other = factory.passing().model_copy(
        update={"endpoints": (candidate, reference.model_copy(update={"model": "m", "speculation": None}))}
    )
    assert opening(other).endswith("compared with reference (m) with speculation unknown.")
    assert opening(factory.passing().model_copy(update={"endpoints": ()})) == ""


def test_a_word_is_linked_where_it_is_first_used_and_what_it_stands_in_is_escaped() -> None:
    words = Glossary()
    first = str(words("<b>a bleed, a donor"))
    assert first.startswith("&lt;b&gt;a <a ")
    assert first.count("<a ") == 2
    assert str(words("a bleed & a donors")) == "a bleed &amp; a donors"


def test_every_link_to_a_word_leads_to_its_meaning() -> None:
    page = html(factory.failing())
    linked = set(re.findall(r'href="#(w-[^"]+)"', page))
    assert {"w-candidate", "w-donor"} <= linked
    assert linked <= {anchor(word) for word in GLOSSARY}
    assert all(f'id="{anchor(word)}"' in page for word in GLOSSARY)


def test_more_leaks_than_wrong_answers_are_explained_and_others_are_not() -> None:
    failing = factory.failing()
    at = "candidate/nvfp4/c8/burst-solo"
    bleed = failing.findings[0].model_copy(update={"counts": {at: 3, "candidate/nvfp4/c8/closed-loop": 1}})
    (line,) = leaks(failing.model_copy(update={"findings": (bleed,)}))
    assert line.startswith("concurrency 8, lm_head nvfp4, burst-solo: 3 leaks but 0 wrong answers")
    assert leaks(failing) == []


def test_a_cell_that_fails_without_a_wrong_answer_has_the_colour_of_its_verdict_and_says_why() -> None:
    failing = factory.failing()
    reason = failing.reasons[0]
    cell = factory.cell(0, 54, status="fail")
    _, ((_, (field,)),) = heat(failing.model_copy(update={"cells": (cell,), "reasons": (reason,)}))
    assert field is not None
    assert (field.state, field.shade, field.status) == ("bad", 0, "FAIL")
    assert field.why == "bleed/concurrent/history: 3 times here"


def test_preflight_that_saw_a_failure_does_not_say_that_nothing_stood_against() -> None:
    failing = factory.failing()
    calm = failing.preflight.model_copy(update={"warnings": ()}) if failing.preflight else None
    assert "nothing stood against comparing" in html(failing.model_copy(update={"preflight": calm}))
    early = failing.findings[0].model_copy(update={"cells": ("candidate/preflight",)})
    page = html(failing.model_copy(update={"preflight": calm, "findings": (early,)}))
    assert "what failed while asking is under findings" in page
