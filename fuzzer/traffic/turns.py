"""Conversations: each slot goes through all turns of one before it takes the next; the last turn is judged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fuzzer.history.records import Prompt
from fuzzer.history.schedule import AS_PLANNED, Overrides, Release, Send
from fuzzer.traffic.mixture import Chain
from fuzzer.traffic.setting import Setting


def multi_turn(prompts: Sequence[str], setting: Setting) -> Iterator[Release]:
    """Whole conversations on N slots: every earlier question is asked for real, then the one that is judged.

    The history stays as the prompt tells it, so that an answer can be checked. Where the engine has slots to pin
    requests to, a conversation stays on its own.
    """
    if not setting.traits.pins:
        chains = [conversation(setting.prompt(prompt), AS_PLANNED) for prompt in prompts]
    else:
        chains = []
        for slot in range(min(setting.concurrency, len(prompts))):
            own = prompts[slot :: setting.concurrency]
            pinned = Overrides(slot=slot)
            chains.append(tuple(send for prompt in own for send in conversation(setting.prompt(prompt), pinned)))
    yield Release(width=setting.concurrency, chains=tuple(chains), keep_full=True)


def conversation(prompt: Prompt, overrides: Overrides) -> Chain:
    """The turns of one prompt: its earlier questions as neighbours, the last one as the victim."""
    asked = [place + 1 for place, message in enumerate(prompt.messages[:-1]) if message.role == "user"]
    earlier = (Send(prompt=prompt.id, role="neighbour", turn=turn, overrides=overrides) for turn in asked)
    return (*earlier, Send(prompt=prompt.id, overrides=overrides))
