"""Learning from references, for tasks `docs` and `nlps`."""
