"""Jobs on documents in Azure Queue Storage and Blob Storage."""
