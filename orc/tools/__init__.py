"""The tools server as the orchestrator uses it: the port, the MCP client, the schemas shown to models."""
