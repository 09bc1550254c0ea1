"""Models written for other programs that run them."""
