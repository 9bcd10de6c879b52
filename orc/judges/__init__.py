"""Who reads answers a second time, and how that is measured."""
