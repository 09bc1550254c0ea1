"""Programs that are copied into exported folders: they need no Headwise."""
