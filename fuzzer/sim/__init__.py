"""A stand-in: a simulated speculative engine with plantable faults, and a fault gateway for real engines."""
