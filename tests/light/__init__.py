"""Headwise as `pip install headwise` gives it: without PyTorch and everything else that extras bring."""
