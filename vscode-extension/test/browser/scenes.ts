/** States of the panel for tests and pictures, together with those of `scenes-*.ts`. */

import type { PanelState, Part, TextPart, ToolPart, Turn } from "../../src/shared/state/state.ts";
import { composerScenes } from "./scenes-composer.ts";
import { placeScenes } from "./scenes-places.ts";
import { questionScenes } from "./scenes-questions.ts";
import { workScenes } from "./scenes-work.ts";

/** A state of a running server with an empty session. */
export function emptyState(more: Partial<PanelState> = {}): PanelState {
  return {
    revision: 1,
    connection: { kind: "ready" },
    status: {
      session: "s1",
      title: "Fix the rounding in invoice totals",
      mode: "review",
      modes: ["ask", "review", "auto", "plan"],
      model: "qwen3-coder:30b",
      lacking: "",
      trusted: true,
      undecided: "",
      unapproved: [],
      demo: "",
      running: null,
      beside: [],
      version: "0.1.0",
      pictures: true,
      cost: 0.04,
      effort: "",
      efforts: ["low", "medium", "high"],
    },
    models: null,
    session: "s1",
    seq: 0,
    turns: [],
    older: "none",
    questions: [],
    queue: { seq: 0, held: "", waiting: [] },
    pending: { total: 0, files: 0, added: 0, removed: 0, rows: [], undo: "" },
    todo: [],
    plan: null,
    commands: [],
    attachments: [],
    context: null,
    sentSelections: [],
    firstRun: null,
    near: null,
    list: null,
    mcp: null,
    suggestions: [],
    outgoing: [],
    marks: [],
    title: "",
    isTab: false,
    isRemembered: false,
    draft: { id: 0, text: "", mode: "replace" },
    history: [],
    banner: null,
    looks: { enterSends: true, reducedMotion: false },
    ...more,
  };
}

export function turn(number: number, more: Partial<Turn> = {}): Turn {
  return {
    session: "s1",
    number,
    words: "Fix the rounding in invoice totals",
    title: "",
    chips: [],
    images: [],
    parts: [],
    ending: "done",
    mode: "review",
    model: "qwen3-coder:30b",
    message: "",
    draft: "",
    retryable: false,
    outgrown: false,
    input: 18_240,
    cached: 15_100,
    thinking: 0,
    output: 640,
    cost: 0.0123,
    seconds: 14.2,
    verified: "",
    changes: [],
    left: false,
    whole: true,
    round: 0,
    next: null,
    ...more,
  };
}

export function text(key: string, words: string, more: Partial<TextPart> = {}): TextPart {
  return {
    kind: "text",
    key,
    text: words,
    final: true,
    ms: null,
    since: null,
    ...more,
  };
}

export function tool(
  id: string,
  name: string,
  target: string,
  more: Partial<ToolPart> = {},
): ToolPart {
  return {
    kind: "tool",
    key: `tool-${id}`,
    id,
    name,
    target,
    state: "done",
    figure: "",
    seconds: 0.1,
    message: "",
    output: "",
    cut: 0,
    result: null,
    arguments: null,
    diffs: [],
    inner: [],
    tokens: 0,
    ...more,
  };
}

const DIFF = `--- a/invoice.py
+++ b/invoice.py
@@ -39,9 +39,11 @@ def total(lines):
     total = Decimal(0)
     for line in lines:
         x = line.price * line.count
-        total += round(x, 2)
-    return total
+        total += x
+    # Rounded once, at the end: rounding each line drifts.
+    return round(total, 2)
 
 
 def tax(total, rate):
@@ -58,4 +60,4 @@ def tax(total, rate):
     if rate is None:
-        raise ValueError("no rate")
+        raise ValueError(f"no tax rate for {total!r}")
     return total * rate
`;

const ANSWER = `The total is rounded **per line**, so three lines of 0.333 give 0.99 and not 1.00. Now \`total\` sums exact values and rounds once, in \`invoice.py:44\`.

- \`round(x, 2)\` is gone from the loop
- the tests hold the case of the report, see [the new test](tests/test_invoice.py#L12)

\`\`\`python
def total(lines: Sequence[Line]) -> Decimal:
    """Sum of all lines, rounded once."""
    exact = sum((line.price * line.count for line in lines), Decimal(0))
    return round(exact, 2)  # half even
\`\`\`

| case | before | after |
| --- | ---: | ---: |
| three thirds | 0.99 | 1.00 |
| empty | 0 | 0 |

1. Review the change.
2. Run the whole suite with \`pytest -q\`.

> Rounding of the tax is another matter: it is *per invoice* by law.
`;

function finishedParts(): readonly Part[] {
  return [
    {
      kind: "thinking",
      key: "think",
      text: "The user reports that totals differ by a cent. Rounding **inside** the loop is suspicious.\n\nLook at `total` first.",
      final: true,
      since: null,
      ms: 4012,
    },
    text("t1", "Looking for where totals are rounded."),
    tool("1", "read_file", "invoice.py 1-120", { figure: "120 lines" }),
    tool("2", "grep", "round(", { figure: "7 hits in 3 files", seconds: 0.2 }),
    tool("3", "edit_file", "invoice.py", {
      figure: "+4 −3",
      seconds: 1.2,
      diffs: [{ path: "invoice.py", added: 4, removed: 3, diff: DIFF, created: false }],
    }),
    tool("4", "bash", "pytest -q", {
      state: "failed",
      figure: "failed 1",
      seconds: 3.4,
      message: "exit code 1",
      output:
        "F....\nFAILED tests/test_invoice.py::test_thirds - assert Decimal('0.99') == Decimal('1.00')\n1 failed, 4 passed in 0.31s\n",
    }),
    tool("5", "bash", "pytest -q tests/test_invoice.py", {
      figure: "5 passed",
      seconds: 2.1,
      output: ".....\n5 passed in 0.29s\n",
    }),
    text("t2", ANSWER),
  ];
}

const CHANGE = {
  uri: "file:///shop/invoice.py",
  path: "invoice.py",
  session: "s1",
  touched: false,
  kind: "change" as const,
  note: "",
};

/** States by name. */
export const SCENES: Readonly<Record<string, () => PanelState>> = {
  ...questionScenes(emptyState),
  ...placeScenes(emptyState),
  ...composerScenes(),
  ...workScenes({ base: emptyState, turn, text, tool }),
  nothing: () => emptyState(),
  answered: () =>
    emptyState({
      turns: [
        turn(1, {
          chips: [{ label: "invoice.py:41–58" }, { label: "2 problems" }],
          parts: finishedParts(),
          changes: [{ path: "invoice.py", added: 4, removed: 3 }],
          verified: "Verified by pytest -q tests/test_invoice.py.",
        }),
      ],
      pending: {
        undo: "",
        total: 2,
        files: 1,
        added: 4,
        removed: 3,
        rows: [
          {
            ...CHANGE,
            id: "h1",
            turn: 1,
            range: { start: { line: 41, character: 0 }, end: { line: 44, character: 0 } },
            old: "        total += round(x, 2)\n    return total\n",
            new: "        total += x\n    # Rounded once, at the end: rounding each line drifts.\n    return round(total, 2)\n",
          },
          {
            ...CHANGE,
            id: "h2",
            turn: 1,
            range: { start: { line: 60, character: 0 }, end: { line: 61, character: 0 } },
            old: '        raise ValueError("no rate")\n',
            new: '        raise ValueError(f"no tax rate for {total!r}")\n',
          },
        ],
      },
      todo: [
        { text: "Find the rounding", state: "done", after: [] },
        { text: "Update the tests", state: "doing", after: [1] },
        { text: "Say it in the changelog", state: "open", after: [1, 2] },
      ],
    }),
  running: () =>
    emptyState({
      turns: [
        turn(1, {
          words: "What does this shop do?",
          parts: [text("a", "It adds invoices up and sends them.")],
        }),
        turn(2, {
          words: "Run the whole suite and tell what fails.\nDo not change anything yet.",
          ending: "running",
          seconds: null,
          parts: [
            {
              kind: "thinking",
              key: "think2",
              text: "Which command is the suite?",
              final: true,
              since: null,
              ms: 900,
            },
            tool("9", "bash", "pytest -q", {
              state: "running",
              seconds: null,
              output: `${Array.from({ length: 40 }, (_, n) => `tests/test_${n}.py ....... [${n * 2} %]`).join("\n")}\n`,
            }),
            {
              kind: "line",
              key: "steer",
              what: "steered",
              text: "Only the tests of the tax, please.",
            },
            text(
              "b",
              "The suite takes a while; so far **everything passes**. The first three modules are `tests/test_0.py",
              { final: false },
            ),
          ],
        }),
      ],
    }),
  endings: () =>
    emptyState({
      turns: [
        turn(1, {
          words: "Translate the README",
          ending: "cancelled",
          parts: [text("a", "Translating the first part …")],
          message: "Stopped.",
        }),
        turn(2, {
          words: "Go on",
          ending: "failed",
          retryable: true,
          message:
            "The model at 127.0.0.1:11434 could not be reached: connection refused. Nothing was lost.",
          parts: [
            {
              kind: "line",
              key: "n",
              what: "warning",
              text: "The first try failed; it was tried again after 2 s.",
            },
          ],
        }),
        turn(3, {
          words: "And now",
          ending: "limit",
          message: 'Stopped after 40 rounds. Say "go on" to let it continue.',
          parts: [
            { kind: "line", key: "c", what: "compacted", text: "41,200 → 12,300 tokens" },
            text("x", "Half of it is done."),
          ],
        }),
        turn(4, { words: "Try again", ending: "interrupted", message: "" }),
        turn(5, {
          words: "Delete the build folder",
          parts: [
            tool("12", "bash", "rm -r build/", {
              state: "denied",
              message: "You said no.",
              figure: "refused",
            }),
            text("y", "Left as it was."),
          ],
        }),
      ],
    }),
  failed: () =>
    emptyState({
      turns: [
        turn(1, { words: "What does this shop do?", parts: [text("a", "It adds invoices up.")] }),
        turn(2, {
          words: "Go on",
          ending: "failed",
          retryable: true,
          cost: null,
          message:
            "The model at 127.0.0.1:11434 could not be reached: connection refused. Nothing was lost.",
          parts: [
            {
              kind: "line",
              key: "n",
              what: "warning",
              text: "The first try failed; it was tried again after 2 s.",
            },
            { kind: "line", key: "e", what: "error", text: "The second try failed too." },
            { kind: "line", key: "k", what: "checking", text: "Checking with mypy" },
          ],
        }),
      ],
    }),
  odd: () =>
    emptyState({
      turns: [
        turn(1, {
          words: "Change odd files",
          parts: [
            tool("a", "edit_file", "crlf.py", {
              figure: "+2 −2",
              diffs: [
                {
                  path: "crlf.py",
                  added: 2,
                  removed: 2,
                  created: false,
                  diff: "@@ -1,2 +1,2 @@\n-a = 1\n-b = 2\n+a = 1\r\n+b = 2\r\n",
                },
              ],
            }),
            tool("b", "edit_file", "logo.png", {
              figure: "binary",
              diffs: [
                {
                  path: "logo.png",
                  added: 0,
                  removed: 0,
                  created: false,
                  diff: "Binary files a/logo.png and b/logo.png differ\n",
                },
              ],
            }),
            tool("c", "edit_file", "unseen.py", {
              figure: "+1 −1",
              diffs: [
                {
                  path: "unseen.py",
                  added: 1,
                  removed: 1,
                  created: false,
                  diff: "old mode 100644\nnew mode 100755\n@@ -1 +1 @@\n-x = 1\n+x\u200b = 1\u202e  \n\\ No newline at end of file\n",
                },
              ],
            }),
            tool("d", "edit_file", "huge.py", {
              figure: "+100000 −100000",
              diffs: [
                {
                  path: "huge.py",
                  added: 100_000,
                  removed: 100_000,
                  created: false,
                  diff: Array.from(
                    { length: 100_000 },
                    (_, n) => `@@ -${n * 3 + 1} +${n * 3 + 1} @@\n-old ${n}\n+new ${n}\n`,
                  ).join(""),
                },
              ],
            }),
            tool("e", "bash", "make -j8", {
              figure: "exit code 2",
              state: "failed",
              message: "exit code 2",
              output: "\u001b[31mred\u001b[0m\r 10 %\r 90 %\r100 %\nnull\u0000 bell\u0007\n",
              cut: 12_000,
            }),
          ],
        }),
      ],
    }),
  old: () =>
    emptyState({
      older: "some",
      turns: Array.from({ length: 24 }, (_, n) =>
        turn(n + 1, {
          words: `Question ${n + 1}: what happens with a very long line of words that does not fit in one line of the panel?`,
          parts: finishedParts(),
          changes: [{ path: "invoice.py", added: n, removed: 3 }],
        }),
      ),
    }),
};
