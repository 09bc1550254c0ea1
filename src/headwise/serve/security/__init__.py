"""Security: API keys, rate limits, and the headers of every response."""
