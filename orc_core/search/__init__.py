"""Search over passages: by words, by vectors if an embedder is configured, and by both fused."""
