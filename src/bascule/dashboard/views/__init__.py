"""View models behind the pages: servers, sessions, calls and search."""
