"""The application around `model`: HTTP, pages, languages, the command; no arithmetic of its own."""
