"""Training in several processes: the process group, sharing of batches, data parallel wrappers."""
