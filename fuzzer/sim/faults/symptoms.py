"""What users saw: the codes that public reports are filed under, in words."""

from __future__ import annotations

from collections.abc import Mapping

SYMPTOMS: Mapping[str, str] = {
    "COLLAPSE": "gibberish, or a loop that runs to the token limit",
    "STRUCT": "calls, JSON or reasoning that are broken or in the wrong place",
    "GREEDY_DIVERGE": "sound text that greedy decoding would not give",
    "POISON": "a fault that stays, in a cached prefix or until a restart",
    "NONDET": "other text for the same request at temperature 0",
    "TOKEN_NOISE": "single wrong tokens in sound text",
    "CRASH": "aborts, errors and wild memory accesses",
    "WRONG_PLAUSIBLE": "a wrong answer that looks right",
    "XREQ_LIVE": "content of another request in flight",
    "XREQ_STALE": "content of a request that has finished",
    "ACCEPT_DROP": "fewer drafts accepted; the text may be right",
    "EMPTY": "an answer that is empty or too short",
    "ACC_DRIFT": "a score that falls with load or with time",
    "PROTOCOL": "stops, lengths, usage or streams that do not add up",
    "LOGPROB": "wrong log-probabilities",
    "HANG": "healthy by its own word, and nothing comes",
    "PARAM_IGNORED": "parameters that are silently dropped",
    "UNCOND": "fluent text that nobody asked for",
}
