"""Engines compute the search of a translation: `engine.py` is their contract, `table.py` lists them."""
