"""Repair of translations: numbers that are missing, loops, and translations far longer than their source."""
