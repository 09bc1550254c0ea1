"""Data: files are read, prepared once (cleaned, tokenised, encoded), and batched in a seeded, resumable order."""
