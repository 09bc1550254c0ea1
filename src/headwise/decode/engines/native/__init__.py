"""The native engine: a few C++ files, compiled when the package is built or first used, and what calls them."""
