"""What runs inside a box, before the server and beside it. Standard library only: it is run from its files alone."""
