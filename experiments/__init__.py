"""Experiments beside the package: tuned settings, duplicates as topics, documented results."""
