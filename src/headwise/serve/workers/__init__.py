"""Workers: processes of their own that run the models, and the models that they have loaded."""
