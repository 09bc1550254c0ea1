"""Noise in training pairs: capitals, typos, tags and other things that users write and corpora lack."""
