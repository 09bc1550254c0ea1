"""Model folders on disk: description, weights, shards."""
