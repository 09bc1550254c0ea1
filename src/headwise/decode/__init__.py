"""Using trained models: translate, generate, fill in, embed, classify."""
