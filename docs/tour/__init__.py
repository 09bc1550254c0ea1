"""The pictures of the tour, and the code that makes its pictures and numbers from a model."""
