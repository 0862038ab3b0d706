"""What is wrong: one module an oracle; exchanges in, findings out."""
