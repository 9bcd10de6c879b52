"""How much the checks of one answer may compare: an answer can be made of thousands of numbers."""

MOST_COMPARISONS = 300_000
"""Of clauses and numbers, for one answer. An ordinary answer takes some hundreds."""
LONGEST_CHECKED = 8000
"""Characters of a sentence that is checked; a longer one is a list without end."""


class Effort:
    """Counts the comparisons of the checks. What is not compared is neither verified nor contradicted."""

    def __init__(self, most: int = MOST_COMPARISONS) -> None:
        self.left = most

    @property
    def is_spent(self) -> bool:
        """Whether the checks must end."""
        return self.left <= 0

    def part(self, most: int) -> "Effort":
        """At most so many of the comparisons that are left, to be spent apart from the others."""
        return Effort(min(most, self.left))

    def less(self, part: "Effort", most: int) -> "Effort":
        """What is left after a part of `most` was spent down to `part`."""
        return Effort(self.left - (min(most, self.left) - part.left))

    def spend(self, comparisons: int = 1) -> bool:
        """Take so many comparisons; returns whether they may be made."""
        self.left -= comparisons
        return self.left > 0
