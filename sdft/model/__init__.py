"""One physical small language model: prompts, adapters, engines."""
