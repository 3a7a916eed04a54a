"""What commands change in the workspace, noticed without git, so that it can be taken back."""
