"""Azure's services for tests: emulators, or real services named in the environment."""
