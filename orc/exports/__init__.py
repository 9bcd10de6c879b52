"""Conversations as files to keep: Markdown and PDF."""
