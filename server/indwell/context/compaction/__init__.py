"""Keeps a conversation inside the model's window by shortening, dropping and summarising."""
