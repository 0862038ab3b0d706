"""Corpora: questions from people's own files, from public data sets, or shipped with specfuzz.

A corpus goes by name (shipped, or added in the working directory), by path (JSON lines, JSON, CSV, Parquet, or a
folder of these) or by ``hf:OWNER/NAME``. Rows are read in the format that their fields show. A corpus is finite, and
its answers are ordinary words, so they never say whose answer bled; woven-in canaries do.
"""

from __future__ import annotations

from fuzzer.prompts.corpora.loading import LIMIT, Corpus, load
from fuzzer.prompts.corpora.rows import Row
from fuzzer.prompts.corpora.sources import added, shipped
from fuzzer.prompts.corpora.weaving import PREFIX, check, prompt

__all__ = ["LIMIT", "PREFIX", "Corpus", "Row", "added", "check", "load", "prompt", "shipped"]
