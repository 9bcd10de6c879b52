"""Text extraction: the text of each page of a file, read by a child process that can be killed."""
