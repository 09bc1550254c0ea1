"""Marks of a text in its translation: the words that are linked, and the places that follow from them."""
