"""Repair of translations: missing numbers and kept words, loops, and translations far longer than their source."""
