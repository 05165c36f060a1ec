"""Tool pinning: the lock of approved definitions (`bascule.lock`), and drift from it."""
