"""Collects a prompt's context (selection, attachments, problems), and offers prompts."""
