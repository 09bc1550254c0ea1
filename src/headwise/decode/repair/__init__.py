"""Repair of translations: numbers and kept words that are missing, loops, and translations far longer than their source."""
