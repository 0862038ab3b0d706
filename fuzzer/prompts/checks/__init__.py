"""How answers are checked, by the kind of answer: extract first, then compare."""
