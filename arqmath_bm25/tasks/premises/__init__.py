"""NLPS: premises."""
