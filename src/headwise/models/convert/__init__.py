"""Published weights, in and out: a file a family, each with its config and its names for the same parts."""
