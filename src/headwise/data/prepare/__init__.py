"""Preparing a corpus once: clean, hold out, tokenise, encode, and keep the result on disk."""
