"""The graph that answers one turn: its state, its nodes, its edges."""
