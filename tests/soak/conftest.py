"""Servers for soaks."""

from tests.cli.conftest import serve

__all__ = ["serve"]
