"""What is wrong: one module an oracle; exchanges in, findings out."""

from fuzzer.oracles.registry import ORACLES

__all__ = ["ORACLES"]
