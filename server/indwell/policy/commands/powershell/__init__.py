"""What the commands of PowerShell do: cmdlets, methods, programs, and what none may do."""
