"""The command line: serve, worker, ask, doctor, backup, restore, provision, token, mcp."""
