"""Documents, pages and small JSON records in Azure Blob Storage."""
