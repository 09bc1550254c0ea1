"""HTTP: requests read within limits, errors as JSON, connections with deadlines."""
