"""Bundles, replay, shrinking."""
