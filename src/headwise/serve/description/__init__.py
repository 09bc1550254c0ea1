"""The OpenAPI description of the server (/spec): one file of paths per API."""
