"""Detection power and false alarms, measured: the zoo of planted faults, each under the traffic that should find it."""
