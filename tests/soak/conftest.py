"""Servers for soaks."""

import multiprocessing

from tests.cli.conftest import serve

__all__ = ["serve"]

multiprocessing.get_context("forkserver").set_forkserver_preload(["tests.soak.dying", "tests.soak.servers"])
