"""Document formats: one file per format or family of formats."""
