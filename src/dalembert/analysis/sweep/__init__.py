"""Many runs of one system: what varies, what is kept of each run, where it runs and where it is stored."""
