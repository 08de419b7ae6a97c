"""Settings chosen on judged topics, by cross-validation."""
