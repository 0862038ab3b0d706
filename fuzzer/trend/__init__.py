"""Nights beside each other: an index of runs in SQLite, and what changed from one night to the next."""
