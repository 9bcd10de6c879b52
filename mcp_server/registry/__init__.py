"""The tools as MCP clients see them: names, arguments, results, and the text for people."""
