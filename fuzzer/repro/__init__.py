"""The bug, small: bundles of what was seen, their replay on another day or build, and their reduction."""
