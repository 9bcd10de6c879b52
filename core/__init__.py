"""What both deployables share: documents, grounding, models and the signed scope."""
