"""The document side on Azure: adapters of its ports to Cosmos DB, Blob Storage and the queue."""
