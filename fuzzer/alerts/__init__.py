"""What a soak tells while it goes on: metrics for Prometheus, and alerts to a command or a webhook.

`metrics.NightMetrics` is a listener for events; `exposition.serving` and `exposition.textfile` show it.
`dispatch.Alerts` takes `alert.Alert` values without ever waiting and delivers them by `hooks.Command` and
`webhook.Webhook`; `opening.channels` makes those from the command line's options.
"""
