from __future__ import annotations

from fuzzer.report.redact import redact, shareable

from . import factory


def test_no_text_of_a_prompt_or_answer_is_left() -> None:
    redacted = redact(factory.secret())
    assert redacted.redacted
    assert "umbrellas" not in redacted.model_dump_json()


def test_keys_counts_ids_and_numbers_stay() -> None:
    before, after = factory.secret(), redact(factory.secret())
    old, new = before.findings[0], after.findings[0]
    assert (new.key, new.count, new.cells, new.kind) == (old.key, old.count, old.cells, old.kind)
    assert (new.example.exchange, new.example.prompt) == (old.example.exchange, old.example.prompt)
    assert new.example.donor is not None
    assert (new.example.donor.prompt, new.example.donor.channel) == ("p000012", "history")
    assert new.example.donor.span == "[redacted]"
    assert after.cells[0].rate == before.cells[0].rate
    assert after.reasons[0].message == "bleed of '[redacted]', 3 times"


def test_token_ids_and_numbers_in_evidence_go_too() -> None:
    assert redact(factory.failing()).findings[1].example.evidence == {}


def test_words_that_every_report_uses_are_not_struck() -> None:
    failing = factory.failing()
    example = failing.findings[0].example.model_copy(update={"evidence": {"arm": "candidate", "family": "sort"}})
    group = failing.findings[0].model_copy(update={"example": example})
    redacted = redact(failing.model_copy(update={"findings": (group,)}))
    assert redacted.reasons[2].message == failing.reasons[2].message


def test_redacting_twice_changes_nothing() -> None:
    once = redact(factory.secret())
    assert redact(once) == once


def test_only_a_run_that_asked_for_it_is_redacted() -> None:
    failing = factory.failing()
    assert shareable(failing) is failing
    assert shareable(factory.secret()) == redact(factory.secret())
