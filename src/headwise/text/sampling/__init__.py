"""Subword regularisation: other ways to cut the same text into tokens, drawn at random during training."""
