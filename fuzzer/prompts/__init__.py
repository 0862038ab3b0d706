"""What we ask: families of prompts with checkable constraints, canaries, corpora."""
