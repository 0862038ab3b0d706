"""``python -m fuzzer.sim``: a simulated engine whose configuration comes as one JSON line on standard input."""

from fuzzer.sim.process import main

main()
