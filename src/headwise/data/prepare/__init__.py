"""Preparing data once: clean, hold out, tokenise, encode, and cache the result on disk."""
