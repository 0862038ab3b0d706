"""Where the metrics can be read: over HTTP and in a file."""

from __future__ import annotations

import os
from pathlib import Path

import anyio
import anyio.lowlevel
import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from fuzzer.alerts.exposition import serving, textfile
from fuzzer.alerts.metrics import METRICS, NightMetrics
from fuzzer.errors import UsageError

pytestmark = pytest.mark.anyio
NAMES = {name.removesuffix("_total") for name in METRICS}


async def scraped(url: str, accept: str = "*/*") -> httpx.Response:
    async with httpx.AsyncClient(trust_env=False) as client:
        return await client.get(url, headers={"accept": accept})


def names(page: str) -> set[str]:
    return {family.name for family in text_string_to_metric_families(page)}


async def test_a_scrape_gets_the_metrics_as_they_stand() -> None:
    metrics = NightMetrics()
    async with serving(metrics, 0) as url:
        assert url.startswith("http://127.0.0.1:")
        metrics.disk(77)
        reply = await scraped(url)
        assert (reply.status_code, names(reply.text)) == (200, NAMES)
        assert reply.headers["content-type"].startswith("text/plain; version=")
        assert "\nspecfuzz_kept_bytes 77.0\n" in reply.text
        assert "openmetrics" in (await scraped(url, "application/openmetrics-text")).headers["content-type"]


async def test_it_ends_with_the_soak_even_if_that_is_broken_off() -> None:
    with anyio.CancelScope() as scope:
        async with serving(NightMetrics(), 0) as url:
            assert (await scraped(url)).status_code == 200
            scope.cancel()
            await anyio.sleep_forever()
    with pytest.raises(httpx.ConnectError):
        await scraped(url)


async def test_what_goes_wrong_inside_comes_out_as_it_is() -> None:
    with pytest.raises(KeyError, match="mine"):
        async with serving(NightMetrics(), 0):
            raise KeyError("mine")


async def test_a_port_in_use_is_the_users_mistake() -> None:
    async with serving(NightMetrics(), 0) as url:
        port = int(url.rpartition(":")[2].removesuffix("/metrics"))
        with pytest.raises(
            UsageError, match=rf"^--metrics-port: cannot listen on 127\.0\.0\.1 port {port}: .*in use.*$"
        ):
            async with serving(NightMetrics(), port):
                pass


async def test_the_file_is_whole_from_the_beginning_and_true_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "specfuzz.prom"
    metrics = NightMetrics()
    async with textfile(metrics, path):
        assert names(path.read_text(encoding="utf-8")) == NAMES
        metrics.verdict("fail")
    assert 'specfuzz_verdict{outcome="fail"} 1.0' in path.read_text(encoding="utf-8")
    assert os.listdir(tmp_path) == ["specfuzz.prom"]


async def test_the_file_follows_while_the_soak_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "specfuzz.prom"
    metrics = NightMetrics()
    async with textfile(metrics, path, every=0.001):
        for size in (77, 78, 79):
            metrics.disk(size)
            with anyio.fail_after(60):
                while f"specfuzz_kept_bytes {size}.0" not in path.read_text(encoding="utf-8"):
                    await anyio.lowlevel.checkpoint()


async def test_the_file_is_true_even_if_the_soak_is_broken_off(tmp_path: Path) -> None:
    path = tmp_path / "specfuzz.prom"
    metrics = NightMetrics()
    with anyio.CancelScope() as scope:
        async with textfile(metrics, path):
            metrics.verdict("interrupted")
            scope.cancel()
            await anyio.sleep_forever()
    assert 'specfuzz_verdict{outcome="interrupted"} 1.0' in path.read_text(encoding="utf-8")


async def test_a_file_that_cannot_be_written_later_stops_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    async with textfile(NightMetrics(), folder / "specfuzz.prom"):
        (folder / "specfuzz.prom").unlink()
        folder.rmdir()
    assert not folder.exists()


@pytest.mark.parametrize(("name", "said"), [("specfuzz.txt", "end in .prom"), ("no/specfuzz.prom", "No such file")])
async def test_a_path_that_no_collector_would_read_is_the_users_mistake(tmp_path: Path, name: str, said: str) -> None:
    with pytest.raises(UsageError, match=f"^--textfile: .*{said}.*$"):
        async with textfile(NightMetrics(), tmp_path / name):
            pass
