"""``specfuzz init``: a commented ``specfuzz.toml`` to begin with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fuzzer.errors import UsageError

# Endpoints stand last: in TOML, what follows a table is part of it.
STARTER = """\
# specfuzz.toml: options of `specfuzz gate --config specfuzz.toml`; what is given on the command line wins.
# Every option is here. What is commented out stands at its default, or is an example.
# ${NAME} in a text is replaced from the environment; $$ is a dollar sign. Keys and tokens belong there, not here.

# --- how it is asked -------------------------------------------------------------------------------------------------

# concurrency = [1, 8]             # 1 is the control
# ladder = false                   # true: 1,2,3,4,5,6,8,12,16,32 in place of concurrency
# schedule = ["closed-loop", "burst-solo"]
# max-tokens = 256
# thinking = "auto"                # auto, on, off
# stream = true
# cache = "warm"                   # prefix cache, alike on both sides: warm, cold
# timeout = 120                    # seconds, for one exchange
# seed = 0                         # decides prompts and order

# --- what is asked ---------------------------------------------------------------------------------------------------

# family = ["echo", "code-word"]   # default: all, weighted
# corpus = ["gate"]                # a shipped prompt set, or a file of your own
# weave = true                     # put canaries into corpus rows
# pad = 2000                       # tokens of filler in the needle family
# fuzz = 0                         # prompts at the edges, drawn by Hypothesis

# --- when it passes --------------------------------------------------------------------------------------------------

# max-wrong-rate = "1%"
# confidence = "95%"
# requests = 400                   # fixed number of judged answers; default: a sequential test
# control-requests = 60
# early-stop = true
# require-speculation = true       # inconclusive unless drafting is seen
# budget = "20m"                   # trim the plan to fit this time
# waivers = "waivers.toml"         # known findings, with reason and expiry
# p50-concurrency = 8              # the level that you run at: its row is marked in the report
# speed-temperature = 0.7          # measure speed and acceptance at it, too; nothing is judged there
# redact-content = false           # keep prompts and answers out of all files but history.jsonl

# --- the same for all endpoints, unless a table above says otherwise -------------------------------------------------

# model = "org/model"
# reference-model = "org/model"
# api-key-env = "SERVING_KEY"
# reference-api-key-env = "REFERENCE_KEY"
# header = ["X-Team=serving"]
# engine = "auto"
# ca-file = "ca.pem"               # certificates to trust besides the system's
# wait-ready = "5m"                # wait so long for models to load
# lm-head = ["candidate=bf16"]

# --- what is compared ------------------------------------------------------------------------------------------------

# The server with speculative decoding. Several have names of their own: [candidate.fp8], [candidate.nvfp4] ...
[candidate]
url = "http://127.0.0.1:8001"
# model = "org/model"              # default: the one that is served
# lm_head = "bf16"                 # precision of its output head: fp32, bf16, fp16, fp8, nvfp4, w4a16
# api_key_env = "CANDIDATE_KEY"    # name of the variable that holds its key
# engine = "vllm"                  # default: found out; vllm, sglang, llamacpp, mlx, trtllm, lmdeploy, openai
# headers = { X-Team = "serving" }

# The same model without speculation. Without it only the weaker claim can be made.
[reference]
url = "http://127.0.0.1:8000"
# lm_head = "bf16"

# What only specfuzz soak reads: how long it lasts, and whom it tells.
[soak]
# duration = "8h"
# requests = 20000                 # end after so many judged answers
# anchor-every = "15m"             # ask the same prompts so often, to see drift with uptime
# stop-on = "fail"                 # end as soon as the night has failed
# max-disk = "20g"                 # drop the bulk of clean legs beyond this
# metrics-port = 9464              # Prometheus metrics, on the loopback
# textfile = "specfuzz.prom"       # the same in a file, for node_exporter
# on-finding = "logger -t specfuzz"  # run for a certain finding; it gets JSON on its input
# webhook = "env:SPECFUZZ_WEBHOOK"   # post alerts there, as Slack reads them
"""


def init(
    file: Annotated[Path, typer.Argument(help="The file to write.")] = Path("specfuzz.toml"),
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is there.")] = False,
) -> None:
    """Write a commented specfuzz.toml, in which every option is explained.

    For example: specfuzz init && specfuzz gate --config specfuzz.toml
    """
    try:
        with file.open("w" if force else "x", encoding="utf-8") as out:
            out.write(STARTER)
    except FileExistsError:
        raise UsageError(f"{file} is there already; write over it with --force, or name another file") from None
    except OSError as error:
        raise UsageError(f"cannot write {file}: {error.strerror}") from None
    typer.echo(f"wrote {file}; now: specfuzz gate --config {file}")
