"""What tools there are: listings read, named, digested, bounded in cost, and calls checked against them. No I/O."""
