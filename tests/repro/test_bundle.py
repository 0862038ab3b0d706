"""Bundles on disk: read back as they were, refused where anything is wrong, and nothing outside is touched."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from fuzzer.repro.bundle import BUNDLE, BundleError, encoded, name_of, read_bundle
from fuzzer.repro.writing import write
from tests.cli.conftest import specfuzz
from tests.repro.factory import bundle


def test_directory_and_zip_hold_the_same(tmp_path: Path) -> None:
    made = write(bundle(), tmp_path)
    assert sorted(path.name for path in made.iterdir()) == ["ISSUE.md", BUNDLE, "reproduce.py"]
    assert read_bundle(made) == read_bundle(made.with_name(f"{made.name}.zip")) == read_bundle(made / BUNDLE)
    assert read_bundle(made).cohort == bundle().cohort


def test_a_name_is_safe_whatever_the_key() -> None:
    wild = bundle().finding.model_copy(update={"key": "../../bleed/\u202e\n@c"})
    name = name_of(bundle().model_copy(update={"finding": wild}))
    assert "/" not in name
    assert name.isascii()
    assert not name.startswith(".")


def _changed(said: dict[str, object]) -> bytes:
    outer = json.loads(encoded(bundle()))
    outer["bundle"] |= said
    return json.dumps(outer).encode()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"[1]", "no bundle"),
        (b"\xff\xfe", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (_changed({"version": 9}), "version 9"),
        (_changed({"scope": "changed by hand"}), "was changed after specfuzz wrote it"),
        (encoded(bundle())[:-300], "not JSON"),
    ],
)
def test_what_is_damaged_or_changed_is_one_line(tmp_path: Path, content: bytes, words: str) -> None:
    (tmp_path / BUNDLE).write_bytes(content)
    with pytest.raises(BundleError, match=words) as caught:
        read_bundle(tmp_path)
    assert "\n" not in str(caught.value)


def test_a_field_that_is_none_of_ours_is_refused_even_with_its_digest(tmp_path: Path) -> None:
    said = bundle().model_dump(mode="json") | {"run_this": "rm -rf"}
    from fuzzer.repro import bundle as module

    content = json.dumps({"digest": module._digest(said), "bundle": said}).encode()
    (tmp_path / BUNDLE).write_bytes(content)
    with pytest.raises(BundleError, match="run_this"):
        read_bundle(tmp_path)


@pytest.mark.parametrize(
    ("where", "value", "words"),
    [
        (("rate", "low"), float("nan"), "rate.low"),
        (("rate", "high"), 7.0, "rate.high"),
        (("rate", "k"), 101, "101 failures of 100"),
        (("concurrency",), 0, "concurrency"),
        (("cohort", "judged"), [0, 1, 0], "judged twice"),
        (("cohort", "shares"), [0.5, 5.0], "share outside"),
        (("cohort", "shares"), [0.5, float("nan")], "share outside"),
        (("cohort", "prompts", 0, "messages"), [], "'a' has no messages"),
        (("bodies",), [], "0 bodies of 2 requests"),
        (("finding", "endpoint"), "x\n<script>", "names no endpoint"),
    ],
)
def test_values_that_cannot_be_are_refused_even_with_their_digest(
    where: tuple[str | int, ...], value: object, words: str, tmp_path: Path
) -> None:
    from fuzzer.repro import bundle as module

    said = json.loads(encoded(bundle()))["bundle"]
    inner = said
    for part in where[:-1]:
        inner = inner[part]
    inner[where[-1]] = value
    (tmp_path / BUNDLE).write_text(json.dumps({"digest": module._digest(said), "bundle": said}), encoding="utf-8")
    with pytest.raises(BundleError, match=words) as caught:
        read_bundle(tmp_path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_zip_whose_data_is_damaged_is_one_line(method: int, tmp_path: Path) -> None:
    archive = tmp_path / "b.zip"
    with zipfile.ZipFile(archive, "w", method) as zipped:
        zipped.writestr("b/bundle.json", encoded(bundle()))
    whole = archive.read_bytes()
    for start in range(41, len(whole) - 200, 97):
        archive.write_bytes(whole[:start] + bytes(255 - byte for byte in whole[start : start + 6]) + whole[start + 6 :])
        with pytest.raises(BundleError) as caught:
            read_bundle(archive)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "name", ["../bundle.json", "/etc/bundle.json", "a/../../bundle.json", "..\\bundle.json", "C:/bundle.json"]
)
def test_a_zip_that_would_leave_its_directory_is_refused(tmp_path: Path, name: str) -> None:
    archive = tmp_path / "b.zip"
    with zipfile.ZipFile(archive, "w") as zipped:
        zipped.writestr("b/bundle.json", encoded(bundle()))
        zipped.writestr(name, "x")
    before = set(tmp_path.rglob("*"))
    with pytest.raises(BundleError, match="outside its own directory"):
        read_bundle(archive)
    assert set(tmp_path.rglob("*")) == before


def test_a_link_in_a_zip_or_a_directory_is_not_followed(tmp_path: Path) -> None:
    made = write(bundle(), tmp_path / "real")
    linked = tmp_path / "linked"
    linked.mkdir()
    (linked / BUNDLE).symlink_to(made / BUNDLE)
    with pytest.raises(BundleError, match="no regular file"):
        read_bundle(linked)
    archive = tmp_path / "b.zip"
    entry = zipfile.ZipInfo("b/bundle.json")
    entry.external_attr = 0o120777 << 16
    with zipfile.ZipFile(archive, "w") as zipped:
        zipped.writestr(entry, str(made / BUNDLE))
    with pytest.raises(BundleError, match="outside"):
        read_bundle(archive)


def test_a_broken_zip_and_a_missing_bundle_are_one_line(tmp_path: Path) -> None:
    (tmp_path / "b.zip").write_bytes(b"PK\x03\x04 no more")
    for path in (tmp_path / "b.zip", tmp_path / "none.zip", tmp_path / "none", tmp_path):
        with pytest.raises(BundleError):
            read_bundle(path)


def test_the_command_refuses_with_status_2_and_runs_nothing(tmp_path: Path) -> None:
    made = write(bundle(), tmp_path)
    marker = tmp_path / "ran"
    (made / "reproduce.py").write_text(f"open({str(marker)!r}, 'w')\n", encoding="utf-8")
    text = (made / BUNDLE).read_text(encoding="utf-8")
    (made / BUNDLE).write_text(text.replace('"scope": "one pair"', '"scope": "another"'), encoding="utf-8")
    result = specfuzz("replay", str(made))
    assert result.status == 2
    assert "changed after" in result.err
    assert len(result.err.strip().splitlines()) == 1
    assert not marker.exists()


def test_markdown_of_a_hostile_server_is_inert(tmp_path: Path) -> None:
    hostile = "<script>alert(1)</script> ![x](http://evil/x.png) @everyone #1 \u202e\x1b[31m ```\n# heading\n````"
    made = write(
        bundle(reply=hostile, note=hostile),
        tmp_path,
    )
    text = (made / "ISSUE.md").read_text(encoding="utf-8")
    outside = _outside_of_code(text)
    assert "<script>" not in outside
    assert "](http://evil" not in outside
    assert "\n# heading" not in outside
    assert "@everyone" not in outside
    assert "\u202e" not in text
    assert "\x1b" not in text


def _outside_of_code(text: str) -> str:
    """What a Markdown reader takes for markup: all but fenced blocks and code spans."""
    kept, fence = [], ""
    for line in text.split("\n"):
        mark = line[: len(line) - len(line.lstrip("`"))]
        if fence:
            fence = "" if line == fence else fence
        elif len(mark) >= 3:
            fence = mark
        else:
            kept.append("".join(line.split("`")[::2]))
    assert not fence
    return "\n".join(kept)


@pytest.mark.parametrize(
    ("tracker", "headings"),
    [
        ("vllm", ["Your current environment", "🐛 Describe the bug"]),
        ("sglang", ["Describe the bug", "Reproduction", "Environment"]),
        ("llamacpp", ["Name and Version", "GGML backends", "Problem description & steps to reproduce"]),
    ],
)
def test_a_report_has_the_headings_that_its_tracker_asks_for(tmp_path: Path, tracker: str, headings: list[str]) -> None:
    from fuzzer.repro.issue import TRACKERS

    wanted = next(known for known in TRACKERS if known == tracker)
    text = (write(bundle(), tmp_path, tracker=wanted) / "ISSUE.md").read_text(encoding="utf-8")
    for heading in headings:
        assert f"\n## {heading}\n" in text
    assert "7 of 100 answers" in text
    assert "python3 -I -S reproduce.py" in text
    assert "one pair" in text
