"""Reports of a run: console, log, curves, model card, cost."""
