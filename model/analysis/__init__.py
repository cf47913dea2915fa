"""What is said about a finished run, computed from its recorded values; must not run a model."""
