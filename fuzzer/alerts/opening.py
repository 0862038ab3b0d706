"""The ways out for alerts that the options ask for."""

from __future__ import annotations

from fuzzer.alerts.hooks import Channel, Command
from fuzzer.alerts.webhook import Webhook, webhook_url


def channels(on_finding: str | None, webhook: str | None, seed: int) -> tuple[Channel, ...]:
    """The channels for ``--on-finding`` and ``--webhook``; UsageError for a value that cannot be used.

    ``seed`` is the run's: the pauses between tries are drawn from it.
    """
    command = (Command.parse(on_finding),) if on_finding is not None else ()
    posted = (Webhook(webhook_url(webhook), seed),) if webhook is not None else ()
    return (*command, *posted)
