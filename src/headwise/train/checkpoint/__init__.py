"""Checkpoints: written atomically, checked when read, averaged."""
