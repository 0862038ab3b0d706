"""The verdict on told histories: what passes, what fails, and what must never pass."""

from __future__ import annotations

from fuzzer.decisions import settled, wanted
from fuzzer.history.records import Arm, Block, Draft, Prompt, Received
from fuzzer.judge.speeds import speed_key
from fuzzer.plan import Policy, Waiver
from fuzzer.summary import Reason
from tests.judge.story import Reply, Says, Story, failed, only, plan, right, said

FIXED = Policy(requests=60, max_wrong_rate=0.05)


def wrong(prompt: Prompt, _: int) -> Reply:
    return said("The answer is QQQQ-2222.")


def empty(prompt: Prompt, _: int) -> Reply:
    return said("")


def special(prompt: Prompt, _: int) -> Reply:
    return said(f"{prompt.answer}<|im_end|>")


def lost(prompt: Prompt, _: int) -> Reply:
    return None


def full(policy: Policy = FIXED, **arms: object) -> Story:
    """A control and one gated block of 60."""
    story = Story(plan(policy))
    prompts = story.fresh(60)
    story.calibrate(8, prompts)
    story.measure(1, prompts)
    story.measure(8, prompts, **arms)  # type: ignore[arg-type]  # a test's own keywords
    return story


def test_a_clean_run_passes_and_says_what_it_rules_out() -> None:
    summary = full().summary()
    assert (summary.verdict, summary.exit_status) == ("pass", 0)
    (reason,) = summary.reasons
    assert reason.code == "passed"
    assert "4.87%" in reason.message


def test_two_gated_cells_take_331_clean_answers_each() -> None:
    default = plan(schedules=("closed-loop", "burst-solo"))
    assert [wanted(default, cell) for cell in default.cells()] == [60, 331, 331]


def test_the_sequential_test_passes_at_the_clean_size_and_not_before() -> None:
    story = Story(plan())
    prompts = story.fresh(wanted(story.plan, story.cell(8)) - 1)
    story.measure(1, prompts[:60])
    story.measure(8, prompts)
    assert story.summary().verdict == "inconclusive"
    story.measure(8, story.fresh(1))
    assert story.summary().verdict == "pass", story.summary().reasons


def test_too_few_answers_can_fail_but_not_pass() -> None:
    story = full(Policy(requests=60))
    assert story.summary().exit_status == 3
    assert story.codes() == {"too-few-judged"}
    assert full(Policy(requests=60), candidate=only(range(30), wrong)).summary().verdict == "fail"


def test_a_third_wrong_fails_by_rate_and_against_the_reference() -> None:
    summary = full(candidate=only(range(20), wrong)).summary()
    assert summary.exit_status == 1
    assert {"wrong-rate", "worse-than-reference"} <= {reason.code for reason in summary.reasons}
    cell = next(cell for cell in summary.cells if cell.role == "gated")
    assert (cell.rate.k, cell.rate.n) == (20, 60)
    assert cell.paired is not None
    assert (cell.paired.b, cell.paired.c) == (20, 0)


def test_an_empty_answer_of_the_candidate_alone_is_wrong() -> None:
    summary = full(candidate=only(range(3), empty)).summary()
    cell = next(cell for cell in summary.cells if cell.role == "gated")
    assert cell.arms["candidate"].wrong == {"empty": 3}
    assert cell.rate.k == 3


def test_an_answer_that_neither_side_gives_leaves_the_denominator() -> None:
    summary = full(candidate=only(range(3), empty), reference=only(range(3), empty)).summary()
    cell = next(cell for cell in summary.cells if cell.role == "gated")
    assert cell.arms["candidate"].unjudged == {"empty": 3}
    assert (cell.rate.k, cell.rate.n) == (0, 57)


def test_service_failures_of_the_candidate_alone_fail() -> None:
    story = full(candidate=only(range(12), failed))
    assert story.summary().verdict == "fail"
    assert "service-failures" in story.codes()


def test_service_failures_on_both_sides_are_inconclusive() -> None:
    story = full(candidate=only(range(12), failed), reference=only(range(12), failed))
    assert story.summary().verdict == "inconclusive"
    assert "shared-service-failures" in story.codes()


def test_a_certain_fault_fails_even_once() -> None:
    story = full(candidate=only([5], special))
    assert story.summary().verdict == "fail"
    assert "certain-finding" in story.codes()


def test_a_certain_fault_in_calibration_or_control_counts_too() -> None:
    story = Story(plan(FIXED))
    prompts = story.fresh(60)
    story.calibrate(8, prompts, candidate=only([3], special))
    story.measure(1, prompts)
    story.measure(8, prompts)
    assert story.summary().verdict == "fail"
    story = Story(plan(FIXED))
    prompts = story.fresh(60)
    story.calibrate(8, prompts)
    story.measure(1, prompts, candidate=only([3], special))
    story.measure(8, prompts)
    assert story.summary().verdict == "fail"


def test_a_fault_that_the_reference_shows_too_is_inconclusive() -> None:
    story = full(candidate=only([5], special), reference=only([7], special))
    assert story.summary().verdict == "inconclusive"
    assert "reference-faulty" in story.codes()


def test_a_faulty_reference_does_not_hide_a_candidate_that_fails_on_its_own() -> None:
    story = full(candidate=only(range(20), wrong), reference=only([50], special))
    assert story.summary().verdict == "fail"


def test_a_waived_fault_does_not_fail_until_the_waiver_expires() -> None:
    first = full(candidate=only([5], special))
    (key,) = [group.key for group in first.summary().findings if group.breaks_gate]

    def verdict(expires: str) -> str:
        waiver = Waiver(key=key, reason="known", expires=expires)
        story = Story(plan(FIXED, waivers=(waiver,)))
        prompts = story.fresh(60)
        story.calibrate(8, prompts)
        story.measure(1, prompts)
        story.measure(8, prompts, candidate=only([5], special))
        return story.summary().verdict

    assert verdict("2999-01-01") == "pass"
    assert verdict("2001-01-01") == "fail"


def test_speculation_never_seen_is_inconclusive_unless_it_need_not_be_seen() -> None:
    for required, verdict in ((True, "inconclusive"), (False, "pass")):
        story = Story(plan(Policy(requests=60, max_wrong_rate=0.05, require_speculation=required)), drafting=0.0)
        prompts = story.fresh(60)
        story.measure(1, prompts)
        story.measure(8, prompts)
        assert story.summary().verdict == verdict


def test_a_batch_that_never_filled_is_inconclusive() -> None:
    story = Story(plan(FIXED))
    prompts = story.fresh(60)
    story.measure(1, prompts)
    story.measure(8, prompts, share=0.9)
    assert story.codes() == {"concurrency-not-reached"}


def test_a_cell_that_was_not_run_never_passes() -> None:
    story = Story(plan(FIXED))
    story.measure(1, story.fresh(60))
    assert story.summary().verdict == "inconclusive"
    key = story.cell(8).key
    assert story.codes(not_run={key: "no room in the budget"}) == {"budget"}


def test_lost_exchanges_are_in_no_rate_and_no_pair() -> None:
    story = Story(plan(FIXED))
    prompts = story.fresh(66)
    story.measure(1, prompts[:60])
    story.measure(8, prompts, candidate=only(range(3), lost), reference=only(range(3, 6), lost))
    cell = next(cell for cell in story.summary().cells if cell.role == "gated")
    assert cell.arms["candidate"].lost == 3
    assert cell.rate.n == 63


def test_what_stopped_the_run_is_the_only_reason() -> None:
    story = Story(plan())
    reason = Reason(code="not-comparable", message="different models")
    summary = story.summary(stopped=(reason,))
    assert (summary.exit_status, summary.reasons) == (3, (reason,))
    reason = Reason(code="unavailable", message="nothing listens")
    assert story.summary(stopped=(reason,)).exit_status == 4


def test_an_interrupted_run_says_so_unless_it_failed_already() -> None:
    story = Story(plan(FIXED))
    story.measure(1, story.fresh(60))
    assert story.summary(interrupted=True).exit_status == 130
    assert full(candidate=only(range(20), wrong)).summary(interrupted=True).exit_status == 1


def test_calibration_keeps_what_the_reference_gets_right_in_every_pass() -> None:
    story = Story(plan(FIXED))
    prompts = story.fresh(20)
    story.calibrate(8, prompts, reference=only(range(5), wrong))
    calibration = next(iter(story.judge.calibrations.values()))
    assert calibration.ready == prompts[5:]
    assert sum(row.tried - row.kept for row in story.summary().calibration) == 5


def test_without_a_reference_the_control_pairs_prompt_by_prompt() -> None:
    story = Story(plan(FIXED, reference=False))
    prompts = story.fresh(60)
    story.measure(1, prompts)
    story.measure(8, prompts, candidate=only(range(20), wrong))
    summary = story.summary()
    cell = next(cell for cell in summary.cells if cell.role == "gated")
    assert cell.paired is not None
    assert (cell.paired.b, cell.paired.c, cell.paired.against) == (20, 0, "itself at concurrency 1")
    assert summary.verdict == "fail"
    assert "no reference" in summary.scope


def test_right_answers_fail_nothing() -> None:
    assert full(candidate=right).summary().findings == ()


def test_hardly_any_drafting_at_n_is_no_speculation_though_a_little_was_seen() -> None:
    story = Story(plan(FIXED), drafting=4.0)
    prompts = story.fresh(60)
    story.measure(1, prompts)
    story.drafting = 0.5
    story.measure(8, prompts)
    assert story.codes() == {"no-speculation"}


def test_a_reference_that_died_measures_nothing() -> None:
    story = full(reference=failed)
    assert story.summary().verdict == "inconclusive"
    assert "reference-faulty" in story.codes()


def test_a_reference_that_drafts_is_not_comparable() -> None:
    def drafting(prompt: Prompt, _: int) -> Reply:
        return said(prompt.answer, draft=Draft(drafted=8, accepted=4))

    assert full(reference=drafting).codes() == {"not-comparable"}


def test_a_fixed_size_cell_that_was_cut_short_never_passes() -> None:
    story = Story(plan(Policy(requests=400)))
    prompts = story.fresh(330)
    story.measure(1, prompts[:60])
    story.measure(8, prompts)
    assert story.summary().verdict == "inconclusive"
    assert story.codes() == {"too-few-judged"}


def test_half_of_a_fixed_size_cell_decides_nothing_while_the_run_can_go_on() -> None:
    story = Story(plan(Policy(requests=120, max_wrong_rate=0.05)))
    prompts = story.fresh(60)
    story.measure(1, prompts)
    story.measure(8, prompts, candidate=only(range(20), wrong))
    assert story.summary(interrupted=True).verdict == "interrupted"
    assert story.summary().verdict == "fail"


def test_a_certain_fault_in_a_block_that_a_crash_left_open_fails() -> None:
    story = Story(plan(FIXED))
    prompts = story.fresh(60)
    story.measure(1, prompts)
    story.leave_open(8, prompts[:8], candidate=special)
    assert story.summary(interrupted=True).verdict == "fail"


def test_a_restart_between_two_stages_is_seen() -> None:
    story = full()
    story.forget_counters()
    story.measure(8, story.fresh(60))
    assert "restarted" in story.codes()


def test_replicas_of_one_bad_prompt_are_one_failure() -> None:
    story = Story(plan(Policy(requests=60, max_wrong_rate=0.1), schedules=("replicas",)))
    story.measure(1, story.fresh(60))
    for block in range(10):
        prompts = [prompt for prompt in story.fresh(8) for _ in range(8)]
        story.measure(8, prompts, candidate=only(range(8) if block == 0 else (), wrong), by_round=8)
    cell = next(cell for cell in story.summary().cells if cell.role == "gated")
    assert (cell.rate.k, cell.rate.n) == (1, 80)
    assert cell.paired is not None
    assert (cell.paired.b, cell.paired.c) == (1, 0)
    assert story.summary().verdict == "pass", story.summary().reasons


def test_a_server_that_is_replaced_in_mid_run_ends_its_cell() -> None:
    def labelled(**labels: str) -> Says:
        return lambda prompt, _: said(prompt.answer, **labels)

    for name, old, new in (("model", "m", "n"), ("fingerprint", "vllm-1-a", "vllm-1-b")):
        story = full(candidate=labelled(**{name: old}))
        assert story.summary().verdict == "pass"
        story.measure(8, story.fresh(60), candidate=labelled(**{name: new}))
        assert story.codes() == {"changed"}
        assert settled(story.judge, story.cell(8), frozenset())
        (reason,) = story.summary().reasons
        assert f"was '{old}' and became '{new}'" in reason.message


def test_a_restart_ends_its_cell() -> None:
    story = Story(plan())
    prompts = story.fresh(120)
    story.measure(1, prompts[:60])
    story.measure(8, prompts[:60])
    assert not settled(story.judge, story.cell(8), frozenset())
    story.forget_counters()
    story.measure(8, prompts[60:])
    assert settled(story.judge, story.cell(8), frozenset())
    assert story.summary().cells[1].status == "vacuous"


def test_what_a_rate_limit_refuses_is_nobodys_failure_and_ends_its_cell_undecided() -> None:
    def limited(prompt: Prompt, _: int) -> Reply:
        return Received(outcome="overloaded", http_status=429, end_ns=1)

    for arm, more in (("candidate", {"too-few-judged"}), ("reference", set[str]())):
        story = full(**{arm: only(range(30), limited)})  # type: ignore[arg-type]  # a test's own keywords
        assert story.summary().verdict == "inconclusive"
        assert story.codes() == {"rate-limited"} | more
        cell = story.summary().cells[1]
        assert (cell.rate.k, cell.status) == (0, "vacuous")
        assert cell.service is not None
        assert (cell.service.b, cell.service.c) == (0, 0)
        assert settled(story.judge, story.cell(8), frozenset())
    assert full(candidate=only(range(3), limited, only([5], special))).summary().verdict == "fail"


def test_what_is_sampled_for_speed_is_judged_by_nobody() -> None:
    story = Story(plan(FIXED, speed_temperature=0.7))
    prompts = story.fresh(60)
    story.calibrate(8, prompts)
    story.measure(1, prompts)
    story.measure(8, prompts)
    key = speed_key("candidate", None, 8)
    arms: tuple[Arm, ...] = ("candidate", "reference")
    for arm in arms:
        story._stage(key, arm, "speed", 0, 0, 8, prompts, special, 1.0)
    story.judge.feed(Block(cell=key, block=0, judged_prompts=()))
    summary = story.summary()
    assert (summary.verdict, summary.findings) == ("pass", ())
    (sampled,) = summary.sampled
    assert (sampled.concurrency, sampled.temperature) == (8, 0.7)
    assert sampled.speed.speed_up is not None
    assert sampled.speed.speed_up.pairs == 60
