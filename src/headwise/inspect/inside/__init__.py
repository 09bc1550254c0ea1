"""The inside of a translation in numbers: every attention head, what each layer adds, and what happens without them."""
