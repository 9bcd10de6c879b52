"""Infrastructure below the documents: SQLite, retries, circuit breakers, leases, logging, telemetry."""
