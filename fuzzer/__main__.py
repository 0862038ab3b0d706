"""``python -m fuzzer`` is ``specfuzz``."""

from fuzzer.cli import main

if __name__ == "__main__":
    main()
