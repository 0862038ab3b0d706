"""What a checkpoint says of itself: the precision of its lm_head, read from headers and configuration alone."""

from fuzzer.checkpoint.head import UNKNOWN, Head, inspect

__all__ = ["UNKNOWN", "Head", "inspect"]
