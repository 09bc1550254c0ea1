"""Training: loss, schedules, checkpoints, and the loop that puts them together."""
