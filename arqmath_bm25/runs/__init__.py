"""Runs: read, checked, repaired, fused, written and described."""
