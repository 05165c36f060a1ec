"""The door for users' tests: sessions, servers and recorded calls as fixtures."""
