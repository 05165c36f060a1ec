"""Packages that servers are run from: fetched once, in a box that sees nobody's data, and kept as layers to be read."""
