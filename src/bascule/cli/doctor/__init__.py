"""Health checks of `bascule doctor`, one module per area, and their report."""
