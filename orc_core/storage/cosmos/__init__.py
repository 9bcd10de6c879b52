"""The document catalog and page analyses in Azure Cosmos DB."""
