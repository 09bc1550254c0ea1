"""Checkpoints: written whole, checked when read, averaged."""
