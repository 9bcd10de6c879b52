"""The tools server: what a model may do with the documents in its scope, over MCP."""
