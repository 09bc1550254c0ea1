"""Vocabulary shortlists: which target tokens a source can need, learned from sentence pairs."""
