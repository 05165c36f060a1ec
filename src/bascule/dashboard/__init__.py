"""What a person sees of a running gateway, as a web page."""
