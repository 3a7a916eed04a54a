"""The effects of PowerShell's commands: cmdlets, methods, programs, and destructive commands."""
