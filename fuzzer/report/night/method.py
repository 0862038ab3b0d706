"""How a night is decided, in plain words, and the words that only a night's report uses."""

from __future__ import annotations

from typing import Final

from fuzzer.report.page.glossary import GLOSSARY

METHOD: Final = (
    "A night is a row of legs. A leg is a gate of a fixed, small size with its own seed: both ends get the same "
    "prompts at temperature 0, with as many requests in flight on one as on the other, and rules check each answer. A"
    " leg that did not fill its batch, or in which a server restarted, is shown and counts for nothing.",
    "A certain finding that no reference exchange shows fails the night by itself, as it fails a gate: one is enough.",
    "All that is decided by counting is decided from the counts of all legs added up, cell by cell. A cell fails if "
    "it fails more often than the reference on the same prompts, or than itself at concurrency 1 where there is none "
    "(exact McNemar test, 1947, one-sided), and its rate is shown to be above a tenth of the limit (exact lower "
    "bound, Clopper-Pearson 1934); by requests that fail, or by material divergence, on the candidate only (the same "
    "test); or if the acceptance length had collapsed in most of its legs. A rate shown to be above the limit is "
    "named as such. Drafts that outlive their requests fail a cell by the first leg of a boot that can show them "
    "(randomisation test, Fisher 1935, p under 0.0005 over the boots).",
    "A healthy pair is failed by counting in at most 1 of 1,000 nights: alpha is 0.001 a night, not a test, shared "
    "out by Holm (1979) over all tests of the night: three for each gated cell, those for drift, and one for each "
    "boot. The price is power: a slight rise of a rare failure goes unseen.",
    "A cell passes if the one-sided upper bound of its failure rate is under the limit. The bound holds for each cell"
    " by itself. Up to every second leg goes where findings appear, so a cell's size is not independent of what it "
    "showed.",
    "Drift: the anchor set is asked again every few minutes. Cochran and Armitage's test (1954, 1955), one-sided, "
    "asks whether its answers fail more often the more requests the boot has had; it is asked of all legs, too, but "
    "those that were sent for findings. It is blind to what was wrong from the start, to what comes and goes, to "
    "fewer than five failures or six legs, and to what only other prompts or traffic provoke.",
    "Boots: an exact one-sided test of each boot against all others together, over the legs that were not sent for "
    "findings. It needs at least two boots, says nothing of starts that the night did not see, and a boot of few legs"
    " can hide. A boot that happened to get more of the hard traffic can look worse than it is.",
    "Both take answers to be independent. Failures that come in clusters make the tests too eager; look at the legs.",
    "Lost exchanges (in flight when a process ended) are in no rate and were not asked again. A clean night clears "
    "nothing below the rates that it rules out, and nothing about other traffic, prompts, builds or hardware.",
)


WORDS: Final = {
    **GLOSSARY,
    "leg": "one gate of fixed size within a night: one schedule at one concurrency, with a seed of its own",
    "anchor set": "prompts that are asked again and again through the night, always the same way: what changes in "
    "their answers is the server's doing",
    "boot": "one life of the candidate's process; a restart begins the next",
    "drift": "answers that fail more often the longer the server has been running",
    "outage": "a time in which one end could not be measured",
    "rotation": "the stated order in which a night goes through levels, schedules and families",
    "bundle": "a directory with what it takes to replay one finding",
}
