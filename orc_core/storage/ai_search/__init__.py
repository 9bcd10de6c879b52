"""Passages and vectors in Azure AI Search, and the search over both in one query."""
