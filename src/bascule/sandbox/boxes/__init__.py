"""Boxes as data: what a server sees inside, how it is bounded, how each engine is told. Nothing is run here."""
