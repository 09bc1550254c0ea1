"""The GPU engine: half precision, fixed caches, and one CUDA graph per decoding step."""
