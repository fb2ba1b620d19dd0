"""Strategies, one file per system; found by listing, never imported by name."""
