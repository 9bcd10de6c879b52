"""The command line: serve, worker, ask, trial, doctor, backup, restore, provision, token, mcp."""
