"""The Gradio screens; handlers only translate between widgets and the core."""
