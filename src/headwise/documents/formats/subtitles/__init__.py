"""Subtitles: cues with timing, whose sentences run over several of them."""
