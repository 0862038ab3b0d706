"""The worked examples of the how-to pages; the tests run them, and mypy checks them."""
