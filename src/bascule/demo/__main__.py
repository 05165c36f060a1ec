"""`python -m bascule.demo`: the tour."""

import asyncio
import sys

from bascule.demo.tour import tour

if __name__ == "__main__":
    sys.exit(0 if asyncio.run(tour()) else 1)
