"""Adapters of the document side's ports: SQLite, a folder, and the services of Azure."""
