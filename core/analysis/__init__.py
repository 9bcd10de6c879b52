"""What each page speaks of: summaries, topics, entities, anchors and relations, and the words of a scope."""
