"""Protected files that commands bring into git, and damage to the store of git."""
