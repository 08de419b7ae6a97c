"""From runs to judgments: pools, batches for assessors, and what becomes of their labels."""
