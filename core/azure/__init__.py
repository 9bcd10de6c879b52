"""What the adapters to Azure's services share: credentials, failures, the Cosmos DB client."""
