"""Scheduling: sentences of all clients wait in a fair queue and are translated in common batches."""
