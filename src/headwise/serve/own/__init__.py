"""Headwise's own JSON API: what the others have no words for."""
