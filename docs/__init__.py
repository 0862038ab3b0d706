"""The documentation: its pages, the code that makes the reference from specfuzz itself, and the hook of the build."""
