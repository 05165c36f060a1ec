"""What was seen: levels that only rise, datasets, the fence behind a raise, and receipts."""
