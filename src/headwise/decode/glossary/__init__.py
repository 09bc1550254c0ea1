"""Glossaries: terms that a translation must render as requested."""
