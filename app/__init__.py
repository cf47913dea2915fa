"""The application around `model`: HTTP, pages, languages and the command; it never does arithmetic on activations."""
