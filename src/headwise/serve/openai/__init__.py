"""OpenAI's HTTP API: completions, chats and embeddings, as its official clients use it."""
