"""Nights beside each other: an index of runs in SQLite, and what changed from one night to the next.

`trend` brings the index up to date and tells what it says; `refresh` does the first alone. `prune` is retention.
"""

from __future__ import annotations

from fuzzer.trend.index import Index, Refreshed, refresh
from fuzzer.trend.nights import TrendNight
from fuzzer.trend.story import ToldNight, Trend, trend

__all__ = ["Index", "Refreshed", "ToldNight", "Trend", "TrendNight", "refresh", "trend"]
