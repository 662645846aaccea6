"""Online-SDFT: a small language model that learns when to interrupt from what its owner does."""
