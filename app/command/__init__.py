"""What the command `addnorm` does: one file per subcommand."""
