"""Published model families, one file per family."""
