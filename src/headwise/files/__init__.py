"""Files on disk: atomic writes, whole folders, locks, digests, JSON tables and tensors."""
