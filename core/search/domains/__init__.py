"""What a field calls things: data files, one for each field, and their reader."""
