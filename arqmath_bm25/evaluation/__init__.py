"""Scores of runs as the labs compute them: judgments, measures, comparisons."""
