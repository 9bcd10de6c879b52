"""What a text is made of: words and their stems, sentences, headings, dates."""
