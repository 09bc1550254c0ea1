"""The native engine: C++ that is compiled when the package is built or first used, and the Python that calls it."""
