"""When we ask: schedules and the driver that holds N in flight."""
