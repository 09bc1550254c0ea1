"""Security: API keys and rate limits."""
