"""What a run tells: console, log, curves, model card, cost."""
