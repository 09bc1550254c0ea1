"""Serving: HTTP APIs that existing programs speak, requests of all clients in common batches, keys and limits."""
