"""Comparisons in one run, and the detection-power measurement."""
