"""The editors that ``indwell setup`` knows, as the command line names them."""

EDITORS = ("nvim", "nvim-older", "emacs", "helix", "kate", "sublime", "zed", "vim", "vscode")
