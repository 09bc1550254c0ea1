"""State of the server: corrections, glossaries and usage on disk, shared by servers; translated files in memory."""
