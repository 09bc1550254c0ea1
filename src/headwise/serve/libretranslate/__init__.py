"""LibreTranslate's HTTP API: the same routes, fields and error messages."""
