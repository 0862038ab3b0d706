"""A finding says which control arms also show it, and what was not asked plainly is judged against its like only."""

from __future__ import annotations

from fuzzer.finding import Finding
from fuzzer.history.records import Prompt
from fuzzer.judge import Judge
from tests.judge.story import Reply, Says, Story, plan, right, said


def wrong(prompt: Prompt, _: int) -> Reply:
    return said("nonsense that is no answer to anything")


def tell(*, alone: Says = right, at_n: Says = right, candidate: Says = wrong, reference: Says = right) -> list[Finding]:
    """A run whose candidate answers one prompt so alone, so in calibration at N, and so where it is measured."""
    found: list[Finding] = []
    story = Story(plan())
    story.judge = Judge(story.plan, found.append)
    (prompt,) = story.fresh(1)

    def calibrating(asked: Prompt, index: int) -> Reply:
        return (alone if story.passing == 2 else at_n)(asked, index)

    story.calibrate(8, [prompt], candidate=calibrating)
    story.measure(8, [prompt], candidate=candidate, reference=reference)
    return [item for item in found if item.kind == "wrong-answer" and item.phase == "measure"]


def test_a_fault_of_the_load_alone_is_spared_by_every_control() -> None:
    (told,) = tell()
    assert told.also == ()
    assert told.spared == ("alone", "other-order", "reference")


def test_a_fault_that_is_there_without_the_load_says_so() -> None:
    (told,) = tell(alone=wrong)
    assert told.also == ("alone",)


def test_a_fault_seen_in_calibration_at_n_says_so() -> None:
    (told,) = tell(at_n=wrong)
    assert told.also == ("other-order",)


def test_a_fault_that_the_reference_shows_among_the_same_neighbours_says_so() -> None:
    ours, theirs = tell(reference=wrong)
    assert (ours.arm, ours.also) == ("candidate", ("reference",))
    assert theirs.arm == "reference"


def test_what_the_reference_fails_alone_is_a_limit_of_the_model_and_not_judged() -> None:
    story = Story(plan())
    prompts = story.fresh(4)

    def limited(asked: Prompt, index: int) -> Reply:
        return (wrong if index == 2 else right)(asked, index)

    story.calibrate(8, prompts, candidate=limited, reference=limited)
    calibration = next(iter(story.judge.calibrations.values()))
    assert calibration.ready == [prompt for index, prompt in enumerate(prompts) if index != 2]
    assert not any(group.example.kind == "wrong-answer" for group in story.judge.groups.by_key.values())
