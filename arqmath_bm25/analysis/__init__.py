"""Content → index terms: prose, LaTeX, and how they go together. Pure functions, no I/O."""
