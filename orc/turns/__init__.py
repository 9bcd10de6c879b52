"""Turns: started, run, followed, replayed; their events and results."""
