"""Write it down: events to sinks. It is given events, and knows nothing of what made them."""
