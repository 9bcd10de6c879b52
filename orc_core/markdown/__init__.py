"""The Markdown of answers: made safe to render, with brackets that only code may have written."""
