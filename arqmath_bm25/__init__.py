"""Sparse retrieval for mathematics: a BM25 baseline for the ARQMath labs (CLEF 2020-2022)."""

__version__ = "0.1.0"
