"""Cancel and retry on a shared prefix, with bystanders in flight: who gets the pages that a cancelled request frees?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fuzzer.history.schedule import Overrides, Release, Send
from fuzzer.shapes import SHAPES
from fuzzer.traffic.loops import groups
from fuzzer.traffic.mixture import Chain
from fuzzer.traffic.setting import Setting

BLOCKS = 2  # KV blocks that the shared prefix is about long
MILLISECONDS = (1.0, 2.0, 3.0, 5.0, 8.0, 13.0)  # after which a neighbour is broken off: in its prefill, mostly
TOKENS = (1, 2, 4, 8)  # or after so many tokens: in its decoding
PAUSES = (2.0, 3.0, 5.0)  # milliseconds from a cancel to what follows: the engine has just noticed, or is about to


def shared_prefix_cancel(prompts: Sequence[str], setting: Setting) -> Iterator[Release]:
    """Releases of N slots: on half of them bystanders, who are judged; on the others neighbours who share a prefix.

    A neighbour is broken off, sent again and broken off, and sent once more. On one of these slots a victim with the
    shared prefix follows the first cancelled one. The prefix grows by a word from release to release, over all lengths
    modulo 64, so that every block edge (16, 32, 64) is met from both sides whatever the chat template adds.
    """
    size = _victims(setting.concurrency)
    for number, group in enumerate(groups(prompts, size)):
        sweep = (setting.before // size + number) % 64
        shared = Overrides(pad=BLOCKS * setting.kv_block + sweep, pad_key=f"{setting.rng.getrandbits(48):012x}")
        cancelling = setting.concurrency - len(group)
        sharer = group[-1] if len(group) > 1 else None
        bystanders = group if sharer is None else group[:-1]
        chains: list[Chain] = [(Send(prompt=prompt),) for prompt in bystanders]
        if sharer is not None:
            pause = setting.rng.choice(PAUSES)
            chains.append((_broken_off(setting, shared), Send(prompt=sharer, at_ms=pause, overrides=shared)))
        chains += [_retried(setting, shared) for _ in range(cancelling)]
        setting.rng.shuffle(chains)
        yield Release(width=setting.concurrency, chains=tuple(chains))


def _victims(concurrency: int) -> int:
    victims = SHAPES["shared-prefix-cancel"].victims
    return victims(concurrency) if victims is not None else concurrency


def _retried(setting: Setting, shared: Overrides) -> Chain:
    first = _broken_off(setting, shared)
    again, pause = (setting.rng.choice(PAUSES) for _ in range(2))
    second = _broken_off(setting, shared).model_copy(update={"prompt": first.prompt, "at_ms": again})
    return (first, second, Send(prompt=first.prompt, role="neighbour", at_ms=pause, overrides=shared))


def _broken_off(setting: Setting, shared: Overrides) -> Send:
    prompt = setting.neighbour().id
    if setting.rng.random() < 0.6:
        after = setting.rng.choice(MILLISECONDS)
        return Send(prompt=prompt, role="neighbour", cancel_ms=after, overrides=shared)
    return Send(prompt=prompt, role="neighbour", cancel_tokens=setting.rng.choice(TOKENS), overrides=shared)
