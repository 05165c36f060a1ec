"""Values and errors that all other packages use: frozen, without I/O, and without imports from the rest of Bascule."""
