"""Looking inside a model: attention weights of every head, as numbers and as pictures."""
