"""Page analysis: summaries, topics, entities, anchors and relations of pages, and the ontology of a scope."""
