"""Tokenizers that are trained here, one file per kind."""
