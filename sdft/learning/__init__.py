"""How delayed callbacks become targets, lessons and updates. Pure functions, no torch."""
