"""Training tasks, one file per task: what a run reads, learns and reports."""
