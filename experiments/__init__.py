"""Experiments beside the package: tuned settings, and every documented result made again."""
