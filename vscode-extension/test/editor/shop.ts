/** The model's scripts for the project of the screenshots. */

import type { Model } from "./model.ts";
import { call, inOrder, say, think } from "./model-script.ts";

const ANSWER = `The total was rounded per line, so three lines of 0.333 came to 0.99. It is rounded once now, at the end:

\`\`\`python
return round(amount * (1 - discount), 2)
\`\`\`

- \`describe\` shows prices with two decimals.
- The tests are green.`;

const MARKDOWN = `# A heading

A paragraph with **bold**, *italic*, ~~struck~~, \`code\` and a [link](https://example.com/page).

## Lists

1. First
2. Second
   - nested
   - [ ] open task
   - [x] done task

> A quotation, which may be
> two lines long.

| Product | Quantity | Price |
| --- | ---: | ---: |
| Tea | 3 | 0.33 |
| Coffee with a rather long name | 12 | 11.50 |

\`\`\`typescript
export const total = (lines: readonly Line[]): number => lines.reduce((sum, line) => sum + line.price, 0);
\`\`\`

\`\`\`diff
-    return amount
+    return round(amount, 2)
\`\`\`

---

The end.`;

/** Adds the scripts that the states of the panel need. */
export function addShopScripts(model: Model): void {
  model.on("rounding", ROUNDING);
  model.on("Fix", (round, rest) =>
    rest.startsWith("the rounding") ? ROUNDING(round, rest) : [say("Done.")],
  );
  model.on("Install", INSTALL);
  model.on("helpers", HELPERS);
  model.on("plan", PLANNED);
  model.on("Outline", PLANNED);
  model.on("serve", SERVE);
  model.on("crossroads", WHICH);
  model.on("markdown", inOrder([say(MARKDOWN, { piece: 40 })]));
}

/** Two sub-agents: one ends, and one waits for a command. Their tasks select scripts of the model. */
const HELPERS = inOrder([
  say("Two of them look at it at once."),
  call("agent", { name: "explore", task: "search total" }),
  call("agent", { task: "run sleep 60" }),
]);

const PLAN = `## Move the tax rules out of \`shop/invoice.py\`

1. Make \`shop/tax.py\` with \`rate_for(line)\`.
2. Move the three rules there, one after the other.
3. Run \`python3 -m unittest\` after each.`;

const PLANNED = inOrder([say("This is enough to plan. "), call("plan", { text: PLAN })]);

const SERVE = inOrder(
  [call("bash", { command: "echo the shop is open; sleep 300", background: true })],
  [say("It runs beside us now.")],
);

const WHICH = inOrder(
  [
    call("ask_user", {
      question: "Two places round the totals. Which one is to stay?",
      options: ["once, at the end", "per line"],
    }),
  ],
  [say("Understood.")],
);

const INSTALL = inOrder(
  [
    say("The old build must go first."),
    call("bash", {
      command: "rm -r build/ && make install",
      unsandboxed: true,
      why: "make install writes to /usr/local",
    }),
  ],
  [say("Nothing was installed.")],
);

const ROUNDING = inOrder(
  [
    think("The test expects 1.0 for three times 0.333. Rounding each line gives 1.0 only by luck."),
    say("The total is rounded per line. Let me look at it."),
    call("read_file", { path: "shop/invoice.py" }),
    call("grep", { pattern: "round\\(" }),
  ],
  [
    call("edit_file", {
      path: "shop/invoice.py",
      edits: [
        {
          old: "        amount += round(line.quantity * line.price, 2)\n    return amount * (1 - discount)\n",
          new: "        amount += line.quantity * line.price\n    return round(amount * (1 - discount), 2)\n",
        },
        { old: '{line.price}"', new: '{line.price:.2f}"' },
      ],
    }),
  ],
  [call("bash", { command: "python3 -m unittest discover -s tests" })],
  [say(ANSWER)],
);
