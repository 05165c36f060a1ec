"""What commands print with `--json`, each shape declared once. They are kept stable: a field may be added, and none is
taken away or given another meaning. `docs/reference/json.md` is made from these files, and what is printed is held
against them."""
