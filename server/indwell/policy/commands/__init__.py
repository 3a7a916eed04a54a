"""What a shell text would do: read with tree-sitter, judged part by part. No boundary by itself."""
