"""Telling people and machines what came out."""
