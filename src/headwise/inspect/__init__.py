"""Looking inside: who attends to whom, head by head."""
