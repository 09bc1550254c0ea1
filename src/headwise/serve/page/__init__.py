"""The page: static files that translate and show the inside of models, and the routes that serve them."""
