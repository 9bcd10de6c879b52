"""Counts how often something could have gone wrong, and notes every time that it did."""

import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from resilience.report import Check


@dataclass
class Tally:
    """The checks of a campaign, in the order of `names`; several threads may add to it at once."""

    names: tuple[str, ...]
    _of: Counter[str] = field(default_factory=Counter)
    _findings: dict[str, list[str]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def expect(self, name: str, holds: bool, finding: str | Callable[[], str]) -> bool:
        """Count one case of the check; `finding` says what was seen if it does not hold."""
        assert name in self.names, name
        with self._lock:
            self._of[name] += 1
            if not holds:
                text = finding if isinstance(finding, str) else finding()
                self._findings.setdefault(name, []).append(text)
        return holds

    def checks(self) -> list[Check]:
        """The checks as a verdict shows them."""
        return [Check(name, self._of[name], self._findings.get(name, ())) for name in self.names]
