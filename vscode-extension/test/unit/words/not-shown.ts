/**
 * Literals that look like texts for users but are not. A file is listed as a whole if its literals
 * are for programs: markup, patterns, keys of maps.
 */

/** Files whose literals are for programs. */
export const FOR_PROGRAMS: ReadonlySet<string> = new Set([
  "src/extension/chat/editor/protected-places.ts",
  "src/extension/chat/panel/html.ts",
  "src/extension/chat/placing/code-lines.ts",
  "src/extension/chat/session/board.ts",
  "src/extension/editor/pending/decorations.ts",
  "src/extension/server/install/python.ts",
  "src/webview/markdown/links.ts",
  "src/webview/markdown/parser.ts",
  "src/webview/markdown/sanitise.ts",
]);

/** Literals, grouped by the reason why they are not translated. */
export const NOT_SHOWN: Readonly<Record<string, readonly string[]>> = {
  "beginnings of the server's texts": [
    "not allowed:",
    "the user did not allow this",
    "nobody answered whether this may run",
    "interrupted before it finished",
    "unknown outcome: Indwell ended",
    "not done: Indwell ended",
    "the editor's problems",
    "forked from another session,",
    "{} yet",
    "not sandboxed",
    "outside the sandbox",
  ],
  "lines of the log": [
    "A message of the panel was dropped ({})",
    "What the chat shows is not stored: {}",
    "Colouring code of the language {} took too long",
    "Colouring code: {}",
    "The server of this package, with its own Python: {}",
    "The server of this package does not run on this machine: {}",
    "The server's own place: {} {}",
    "Server: {}",
    "it ended with {}",
    "a signal",
    "the whole",
  ],
  "errors that only our code reads": [
    "taken back",
    "An answer arrived without a question",
    "no place",
    "the file cannot be read",
  ],
  "texts for the model": [
    "\n[exit code {}]",
    "[VS Code passed on no output]",
    "[the beginning was left out]\n",
    "test: {}",
    "in: {}",
    "failed at: {}",
    "The test explorer did not pass on the message of its result.",
    "The model failed without a message",
  ],
  "names of keys and examples": ["Enter", "Escape", "Space", "⌘K {}", "Ctrl+K {}", "Authorization"],
  "patterns, names and commands for programs": [
    "\\[… \\d+ (?:blanks|empty lines) …\\]",
    "^\\[[\\d,]+ lines, [\\d,]+ characters; look at all of them\\](?=\\n)",
    "(?:\\s|\\[… \\d+ (?:blanks|empty lines) …\\])+",
    "\\ No newline",
    "rename to ",
    "MCP server {}.log",
    "mcp {}",
    "nothing yet",
    "indwell {} {}",
    "add {}",
    "question {}",
    "turn {} {}",
    "queue {}",
    "prompt {} {}",
    "ask {}",
    "plan rejection",
    "stay down",
    "Scripts",
    ".find-bar input",
    "codicon codicon-{}",
    "import indwell.cli; print(indwell.__version__)",
  ],
};
