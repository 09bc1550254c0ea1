"""What a model expects of a translation: the probabilities of its words, and of others in their place."""
