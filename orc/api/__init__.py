"""The HTTP face: routes, schemas, server-sent events, authentication and error rendering."""

PREFIX = "/api"
"""Before the paths of all routes but those of OpenAI's interface."""
