"""What several commands share; no command of its own."""
