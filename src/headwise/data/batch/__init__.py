"""Making batches of a prepared corpus: plan an epoch, pad or pack, prefetch."""
