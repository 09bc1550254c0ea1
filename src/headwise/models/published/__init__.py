"""Published models: their folders and files become ours, and ours theirs."""
