"""Seeded numerical experiments, one file each; they know the layers and never a checkpoint's files.

Each module has a frozen request with every default, and ``run``, a generator that yields its
progress after each small slice of work and returns its result, so that whoever runs it may serve
others in between, or stop.
"""
