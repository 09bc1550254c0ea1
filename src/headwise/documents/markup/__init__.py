"""Markup in running text: HTML and Markdown, their inline elements paired and their positions known."""
