"""Search for a good output: beam search, sampling, constraints. Nothing here knows a model class."""
