"""The labs' guidelines: what a run must be like, what it may return, and how it is put right."""
