"""Localisation formats: catalogues of messages, whose keys, comments and layout stay as they are."""
