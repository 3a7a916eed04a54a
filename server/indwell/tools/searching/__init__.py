"""Search tools, which use ripgrep for files on disk and for unsaved buffers."""
