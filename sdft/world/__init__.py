"""The phone and its owner: routes, notifications, people, streams. Knows no model."""
