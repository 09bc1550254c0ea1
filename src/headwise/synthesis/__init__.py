"""Synthetic training data: back-translation, distillation, and the comparison of what they give."""
