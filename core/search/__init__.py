"""Search over passages: by words, by vectors where an embedder is configured, and both fused."""
