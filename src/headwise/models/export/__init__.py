"""Export of models for other inference programs."""
