"""The command line: serve, worker, ask, doctor, provision, token, mcp."""
