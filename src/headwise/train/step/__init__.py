"""One training step: loss, forward and backward pass, optimiser, schedule, averages."""
