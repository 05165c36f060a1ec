"""JSON shapes that commands print with `--json`, each declared once and kept stable."""
