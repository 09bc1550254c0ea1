"""Office documents: what the formats of Microsoft Office and OpenDocument have in common."""
