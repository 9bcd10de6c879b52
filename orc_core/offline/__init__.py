"""The offline model: a deterministic chat model without weights or network."""
