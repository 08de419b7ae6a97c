"""Judging: batches for assessors, and a page to judge one in a browser."""
