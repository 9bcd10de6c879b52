"""The HTTP face: routes, schemas, server-sent events, authentication and error rendering."""
