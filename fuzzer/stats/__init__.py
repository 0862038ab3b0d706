"""How sure we are: intervals, paired tests, the sequential test, sample sizes."""
