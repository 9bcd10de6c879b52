"""What is kept of how turns went: traces without content, for those who run Orc."""
