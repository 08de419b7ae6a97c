"""A generated collection: what was measured, prose, formulas, posts, files; and a description."""
