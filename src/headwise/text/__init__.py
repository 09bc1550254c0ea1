"""Tokenizers, text normalisation and sentence splitting."""
