"""The faults that can be planted, and which of them strike a request.

A fault is drawn from the server's seed, the prompt's text and how often that text was served before: never from the
order of arrival, so that shuffled traffic meets the same faults. Whether its trigger holds (a neighbour in flight, a
cancelled request's pages, a warm prefix) lies in the engine's state, and so in the traffic.
"""

from __future__ import annotations

from fuzzer.sim.faults import pages, protocol, rows, state, structure, texts
from fuzzer.sim.faults.base import Draw, Fault, Plant, draw_faults, strikes_server
from fuzzer.sim.faults.symptoms import SYMPTOMS

__all__ = ["FAULTS", "SYMPTOMS", "Draw", "Fault", "Plant", "draw_faults", "strikes_server"]

# What replaces a whole answer comes first, then what damages one, then what cuts it: plants act in this order.
FAULTS: dict[str, Fault] = {
    **state.FAULTS,
    **pages.FAULTS,
    **texts.FAULTS,
    **structure.FAULTS,
    **rows.FAULTS,
    **protocol.FAULTS,
}
