"""Tasks that rank answers: Tasks 1 and 3."""
