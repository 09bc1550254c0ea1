"""The page as a single file: its scripts, styles and words, and everything about one translation, without a server."""
