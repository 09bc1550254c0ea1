"""DeepL's HTTP API, version 2, as far as its official clients need it."""
