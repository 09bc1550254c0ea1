"""The families: models assembled from the parts in `nn`."""
