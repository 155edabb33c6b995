"""What jobs recorded of their own launches."""
