"""Threads as assessors and readers see them: `gather.py` reads, `site.py` writes pages."""
