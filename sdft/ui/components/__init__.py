"""Persistent browser components of the screens."""
