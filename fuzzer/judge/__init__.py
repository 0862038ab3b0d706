"""What is wrong and how often: the oracles over a history, grades, calibration and the counts of every cell."""

from fuzzer.judge.judge import Judge

__all__ = ["Judge"]
