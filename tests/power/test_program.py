from __future__ import annotations

from pathlib import Path

from fuzzer.power.program import digest_of, program_state


def test_a_program_state_changes_with_any_source_and_with_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "room").mkdir()
    (tmp_path / "room" / "one.py").write_text("a = 1\n", encoding="utf-8")
    before = digest_of(tmp_path)
    (tmp_path / "notes.txt").write_text("nothing that runs", encoding="utf-8")
    assert digest_of(tmp_path) == before
    (tmp_path / "room" / "one.py").write_text("a = 2\n", encoding="utf-8")
    changed = digest_of(tmp_path)
    (tmp_path / "room" / "one.py").rename(tmp_path / "room" / "two.py")
    assert len({before, changed, digest_of(tmp_path)}) == 3


def test_a_program_state_is_twelve_hex_digits() -> None:
    assert len(program_state()) == 12
    assert int(program_state(), 16) >= 0
