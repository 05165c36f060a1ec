"""Change notifications of a kit server: changed lists and resources, subscriptions and their listeners."""
