"""dalembert beside the ways its users have today, in one run and at equal error: `python -m benchmarks.peers`."""
