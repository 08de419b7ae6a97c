"""Content → index terms, of prose and of LaTeX. Pure functions, no I/O."""
