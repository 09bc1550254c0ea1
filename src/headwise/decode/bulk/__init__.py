"""Translating whole files: resumable, and shared between processes and machines."""
