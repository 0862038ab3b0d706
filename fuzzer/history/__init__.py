"""What happened: the records of a run, the append-only journal and the overlap index."""
