"""What both deployables share: documents, grounding, models and the signed scope."""

__version__ = "0.2.0"
