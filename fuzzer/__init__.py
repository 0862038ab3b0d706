"""specfuzz: a correctness fuzzer for batched speculative serving."""
