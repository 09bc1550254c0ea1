"""Weight files that other programs wrote: Hugging Face folders, GGUF. Read as data, never executed."""
