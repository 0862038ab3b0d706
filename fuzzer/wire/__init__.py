"""How we ask: HTTP client, event streams, engine dialects, server metrics, preflight."""
