"""The only place that factorises."""
