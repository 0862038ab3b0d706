"""Comparisons in one run."""
