"""What a resumed run remembers: the schedules of open blocks, and which prompts must not be used again."""

from __future__ import annotations

from fuzzer.history.records import Block
from fuzzer.history.schedule import Release, Scheduled, Send
from fuzzer.traffic.memo import Memo
from fuzzer.traffic.setting import NEIGHBOURS

RELEASE = Release(
    width=2,
    chains=((Send(prompt="p000001"),), (Send(prompt=f"f{NEIGHBOURS + 6}", role="neighbour"),)),
)


def test_a_blocks_schedule_is_known_until_it_is_closed_whichever_arm_began() -> None:
    memo = Memo()
    memo.add(Scheduled(key="cell#3/measure0/reference", cell="cell", block=3, releases=(RELEASE,)))
    assert memo.releases("cell", 3) == (RELEASE,)
    assert memo.releases("cell", 4) is None
    memo.add(Block(cell="cell", block=3, judged_prompts=("p000001",)))
    assert memo.releases("cell", 3) is None


def test_neighbours_of_earlier_schedules_are_not_used_again() -> None:
    memo = Memo()
    assert memo.neighbours == NEIGHBOURS
    memo.add(Scheduled(key="k", cell="cell", block=0, releases=(RELEASE,)))
    assert memo.neighbours == NEIGHBOURS + 7
