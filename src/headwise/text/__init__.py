"""Tokenizers: train, encode, decode, save, load."""
