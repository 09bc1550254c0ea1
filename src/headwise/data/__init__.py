"""Corpora to examples to batches: reading, cleaning, encoding, and a seeded, resumable order."""
