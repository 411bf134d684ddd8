"""Many runs of one system: the varied values, the recorded results, the workers and the storage."""
