"""The model in the box: a translator that comes with the package, and models that are found by name."""
