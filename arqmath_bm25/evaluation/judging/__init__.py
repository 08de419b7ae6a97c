"""How new judgments come about."""
