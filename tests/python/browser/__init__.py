"""What is shown, in a real browser."""
