"""Task 2: formulas."""
