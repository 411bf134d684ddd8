"""The numbers of the five documents, a file each."""
