"""Files and folders that appear whole or not at all, locks, digests, and tensors on disk."""
