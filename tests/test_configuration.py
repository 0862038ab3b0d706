"""``specfuzz.toml`` as people write it: variables of the environment, and a table an endpoint."""

from __future__ import annotations

from pathlib import Path

import pytest

from fuzzer.errors import UsageError
from fuzzer.options import build_plan, read_config
from fuzzer.plan import Plan


def plan(tmp_path: Path, text: str, **given: object) -> Plan:
    file = tmp_path / "specfuzz.toml"
    file.write_text(text)
    return build_plan(given, read_config(file))


def test_one_table_an_endpoint(tmp_path: Path) -> None:
    made = plan(tmp_path, '[candidate]\nurl = "http://a:1"\nlm-head = "bfloat16"\n[reference]\nurl = "http://b:1"\n')
    assert [(end.name, end.url, end.lm_head) for end in made.candidates] == [("candidate", "http://a:1", "bf16")]
    assert [(end.name, end.url) for end in made.references] == [("reference", "http://b:1")]


def test_named_tables_with_fields_of_their_own(tmp_path: Path) -> None:
    made = plan(
        tmp_path,
        'engine = "vllm"\nheader = ["X-All=1", "X-Own=no"]\n'
        '[candidate.fp8]\nurl = "http://a:1"\nmodel = "m"\napi_key_env = "A_KEY"\nheaders = { X-Own = "yes" }\n'
        '[candidate.nvfp4]\nurl = "http://b:1"\nengine = "sglang"\n',
    )
    first, second = made.candidates
    assert (first.name, first.model, first.api_key_env, first.engine) == ("fp8", "m", "A_KEY", "vllm")
    assert first.headers == {"X-All": "1", "X-Own": "yes"}
    assert (second.name, second.model, second.engine) == ("nvfp4", None, "sglang")


def test_a_list_of_tables(tmp_path: Path) -> None:
    made = plan(tmp_path, '[[candidate]]\nname = "x"\nurl = "http://a:1"\n[[candidate]]\nurl = "http://b:1"\n')
    assert [end.name for end in made.candidates] == ["x", "candidate"]


def test_the_command_line_wins_over_tables(tmp_path: Path) -> None:
    made = plan(tmp_path, '[candidate]\nurl = "http://a:1"\nlm_head = "fp8"\n', candidate=["http://c:1"])
    assert [(end.url, end.lm_head) for end in made.candidates] == [("http://c:1", None)]
    head = plan(tmp_path, '[candidate]\nurl = "http://a:1"\nlm_head = "fp8"\n', lm_head=["candidate=bf16"])
    assert head.candidates[0].lm_head == "bf16"


def test_variables_come_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOST_OF_MINE", "gpu7")
    monkeypatch.setenv("TOKEN_OF_MINE", "hush")
    made = plan(
        tmp_path,
        '[candidate]\nurl = "http://${HOST_OF_MINE}:1"\nheaders = { X-Token = "${TOKEN_OF_MINE}", X-Cost = "5$$" }\n',
    )
    assert made.candidates[0].url == "http://gpu7:1"
    assert made.candidates[0].headers == {"X-Token": "hush", "X-Cost": "5$"}
    assert "hush" not in made.model_dump_json()
    assert "hush" not in repr(made)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[candidate]\nurl = "http://${NOT_SET_HERE}:1"', "candidate.url: the environment variable NOT_SET_HERE"),
        ('corpus = ["${9}"]', "corpus: '${9}' is no variable"),
        ('corpus = ["${OPEN"]', "is no variable"),
        ('[candidate]\nmodel = "m"', "candidate: url is missing"),
        ('[candidate.a]\nmodel = "m"', "candidate.a: url is missing"),
        ('[candidate]\nurl = "http://a:1"\nport = "1"', "unknown key 'port'; known are name, url"),
        ('[candidate]\nurl = 3', "candidate: url must be a text"),
        ('[candidate]\nurl = "http://a:1"\nheaders = 3', "headers must be a table"),
        ('[candidate]\nurl = "http://a:1"\nengine = "gpt"', "--engine"),
        ('[candidate]\nurl = "http://a:1"\nheaders = { "X Y" = "1" }', "--header"),
        ('[candidate."a b"]\nurl = "http://a:1"', "'a b' is no name"),
        ('[candidate]\nurl = "nonsense"', "--candidate"),
        ('candidate = ["http://a:1", { url = "http://b:1" }]', "write every endpoint as a table"),
        ('candidate = 3', "candidate"),
    ],
)  # fmt: skip
def test_mistakes_are_one_line_that_says_where(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        plan(tmp_path, text)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
