"""Tokenizers of published models, read from the files their authors wrote."""
