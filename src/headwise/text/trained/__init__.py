"""Tokenizers that Headwise trains, by kind."""
