"""The GPU engine: half precision, fixed caches, and a decoding step recorded as a CUDA graph."""
