"""Fixed sentences of answers, which models are told to use word for word."""

NOT_FOUND_ANSWER = "I could not find this in the attached documents."
"""The whole answer where the sources do not hold it: prompts demand it and the checks look for it."""
