"""The nightly soak: a row of gates with rotating traffic, for hours, through crashes; one verdict in the morning."""
