"""What the adapters for Azure share: credentials, errors, the storage account."""
