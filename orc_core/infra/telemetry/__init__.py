"""OpenTelemetry: spans and metrics of both deployables, without what people asked or what documents say."""
