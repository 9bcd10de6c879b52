"""The tools, free of MCP: each takes a scope and plain arguments."""
