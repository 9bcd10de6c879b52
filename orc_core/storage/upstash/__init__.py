"""Upstash Vector as the index of passage vectors."""
