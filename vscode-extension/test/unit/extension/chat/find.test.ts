/** The rows that the completion of `@` and `/` offers. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  findHandlers,
  McpOffers,
  SkillList,
} from "../../../../src/extension/chat/find/finding-handler.ts";
import {
  foldersOf,
  leftOut,
  noSymbols,
  ranked,
  sourceFirst,
} from "../../../../src/extension/chat/find/rank.ts";
import { attachHandlers } from "../../../../src/extension/chat/handlers/attaching.ts";
import { promptParams } from "../../../../src/extension/chat/handlers/sending.ts";
import type { McpRow } from "../../../../src/protocol.ts";
import type { FoundRow, ToPanel } from "../../../../src/shared/messages.ts";
import { fakePorts, fakeRoom } from "./fake-room.ts";

const NO_SKILLS = { rows: async () => [] };
const NO_OFFERS = { prompts: async () => [], resources: async () => [] };

function file(path: string): FoundRow {
  const cut = path.lastIndexOf("/") + 1;
  return { kind: "file", label: path.slice(cut), detail: path.slice(0, cut), value: path };
}

test("a match in a name ranks before one in a folder, and a short name before a long one", () => {
  const rows = ["tests/test_invoice.py", "src/invoice.py", "invoice/readme.md", "img/voice.png"];
  const found = ranked(rows.map(file), "invoice", 10).map((row) => row.value);
  assert.deepEqual(found, ["src/invoice.py", "tests/test_invoice.py", "invoice/readme.md"]);
  assert.deepEqual(ranked(rows.map(file), "", 2).length, 2);
  assert.deepEqual(ranked(rows.map(file), "zzz", 10), []);
});

test("consecutive letters rank before scattered letters, also in a longer name or a folder", () => {
  const order = (query: string, ...paths: readonly string[]) =>
    ranked(paths.map(file), query, 10).map((row) => row.value);
  assert.deepEqual(order("inv", "i_n_v.py", "a_very_long_name_of_an_invoice.py"), [
    "a_very_long_name_of_an_invoice.py",
    "i_n_v.py",
  ]);
  assert.deepEqual(order("tax", "src/t_a_x.py", "taxes/rates.py"), [
    "taxes/rates.py",
    "src/t_a_x.py",
  ]);
  assert.deepEqual(order("lib", "src/l_i_b.py", "vendor/glibc.py"), [
    "vendor/glibc.py",
    "src/l_i_b.py",
  ]);
});

test("an exact name ranks first, and sorted paths have source files before hidden and generated files", () => {
  const paths = [
    ".github/total.yml",
    "dist/totals.js",
    "src/subtotal.py",
    "src/totals.py",
    "web/total.min.js",
    "src/total.py",
  ];
  const found = ranked(paths.map(file), "total", 10).map((row) => row.value);
  assert.deepEqual(found.slice(0, 4), [
    "src/total.py",
    ".github/total.yml",
    "src/totals.py",
    "src/subtotal.py",
  ]);
  assert.deepEqual(sourceFirst([".ci/a.py", "b.py", "a/poetry.lock", "a/b.py", "out/c.js"]), [
    "a/b.py",
    "b.py",
    ".ci/a.py",
    "a/poetry.lock",
    "out/c.js",
  ]);
});

test("a symbol matches by its name and not by its file", () => {
  const symbol = { kind: "symbol", label: "rate", detail: "src/total.py:3", value: "x" } as const;
  assert.deepEqual(ranked([symbol], "total", 10), []);
  assert.deepEqual(ranked([file("src/rates.py"), symbol], "rate", 1), [symbol]);
});

test("the folders of the files are listed, with the shallow folders first", () => {
  assert.deepEqual(foldersOf(["a/b/c.py", "a/d.py", "e.py", "f/g.py"]), ["a/", "f/", "a/b/"]);
});

test("a second workspace folder is listed with its subfolders, but without the folders above it", () => {
  const paths = ["a/b.py", "/ws/two/c.py", "/ws/two/d/e.py"];
  assert.deepEqual(foldersOf(paths, ["/ws/two"]), ["a/", "/ws/two/", "/ws/two/d/"]);
});

test("an older query is aborted and gets no answer", async () => {
  const answers: ToPanel[] = [];
  const waiting: { signal: AbortSignal; resolve: (rows: readonly FoundRow[]) => void }[] = [];
  const finding = {
    ...fakePorts().finding,
    find: (_: string, signal: AbortSignal) =>
      new Promise<readonly FoundRow[]>((resolve) => waiting.push({ signal, resolve })),
  };
  const { find } = findHandlers(
    finding,
    NO_SKILLS,
    NO_OFFERS,
    (message) => void answers.push(message),
  );
  const first = find({ type: "find", id: 1, what: "@", query: "a" });
  const second = find({ type: "find", id: 2, what: "@", query: "ab" });
  assert.equal(waiting[0]?.signal.aborted, true);
  for (const one of waiting) one.resolve([file("ab.py")]);
  await Promise.all([first, second]);
  assert.deepEqual(answers, [{ type: "found", id: 2, rows: [file("ab.py")] }]);
});

test("generated files and the files that the settings exclude are left out", () => {
  const glob = leftOut(
    { "**/dist": true, "**/*.js": { when: "$(basename).ts" }, "**/b": false },
    null,
  );
  const globs = glob.slice(1, -1).split(",");
  for (const one of ["**/__pycache__/**", "**/*.pyc", "**/.venv/**", "**/dist", "**/dist/**"])
    assert.ok(globs.includes(one), one);
  assert.equal(
    globs.some((one) => one.endsWith(".js") || one.startsWith("**/b")),
    false,
  );
});

test("a slash finds skills, with one request for several keystrokes", async () => {
  const room = fakeRoom();
  const skills = [
    { name: "write-tests", description: "Write tests", source: "indwell" },
    { name: "deploy", description: "Deploy it", source: "workspace" },
  ] as const;
  room.backend.answer("indwell/skills", () => ({ skills }));
  const answers: ToPanel[] = [];
  const { find } = findHandlers(
    room.ports.finding,
    new SkillList(room),
    new McpOffers(room),
    (message) => void answers.push(message),
  );
  await find({ type: "find", id: 1, what: "/", query: "w" });
  await find({ type: "find", id: 2, what: "/", query: "wr" });
  const row = (name: string, detail: string) =>
    ({ kind: "skill", label: `/${name}`, detail, value: `/${name}` }) as const;
  const rows = [row("write-tests", "Write tests"), row("deploy", "Deploy it (of this folder)")];
  assert.deepEqual(answers, [
    { type: "found", id: 1, rows },
    { type: "found", id: 2, rows },
  ]);
  assert.equal(room.backend.calls("indwell/skills").length, 1);
  room.clock.advance(5000);
  await find({ type: "find", id: 3, what: "/", query: "" });
  assert.equal(room.backend.calls("indwell/skills").length, 2);
});

test("MCP servers offer prompts and resources, and a failed request gives empty lists", async () => {
  const room = fakeRoom();
  const offers = new McpOffers(room);
  assert.deepEqual([await offers.prompts(), await offers.resources("")], [[], []]);
  const servers: readonly McpRow[] = [
    {
      name: "docs",
      standing: "usable",
      state: "ready",
      problem: "",
      source: "your settings",
      own: true,
      runs: "uvx docs",
      tools: 2,
      prompts: [{ text: "/docs:sum", description: "Sum up" }],
      resources: [
        { text: "@docs:x://one", description: "One" },
        { text: "@docs:y://two", description: "Two" },
      ],
      remote: false,
      offers: [],
    },
  ];
  room.backend.answer("indwell/mcp", () => ({ servers, problems: [], log: [] }));
  room.clock.advance(5000);
  assert.deepEqual(await offers.prompts(), [
    { kind: "skill", label: "/docs:sum", detail: "Sum up", value: "/docs:sum" },
  ]);
  assert.deepEqual(
    (await offers.resources("y://")).map((one) => one.value),
    ["@docs:y://two"],
  );
  assert.equal(room.backend.calls("indwell/mcp").length, 2);
});

test("the list of skills is requested again after a failure", async () => {
  const room = fakeRoom();
  const list = new SkillList(room);
  await assert.rejects(list.rows());
  room.backend.answer("indwell/skills", () => ({ skills: [] }));
  assert.deepEqual(await list.rows(), []);
});

test("problems, changes, the selection and terminal output become chips and attachments of the prompt", async () => {
  const room = fakeRoom();
  const { attachMention } = attachHandlers(room);
  for (const value of ["problems:", "changes", "selection", "terminal:last", "terminal"])
    await attachMention({ type: "attachMention", value, label: value });
  const { attachments } = room.store.state;
  assert.deepEqual(
    attachments.map(({ kind, label }) => [kind, label]),
    [
      ["problems", "problems:"],
      ["changes", "changes"],
      ["mention", "a.py:1-3"],
      ["text", "Terminal: make (exit code 2)"],
      ["text", "terminal"],
    ],
  );
  const sent = promptParams("look", "s", attachments);
  assert.deepEqual(sent.mentions, ["a.py#L1-3"]);
  assert.deepEqual(sent.attachments?.slice(0, 3), [
    { kind: "problems", label: "problems:", uri: null },
    { kind: "changes", label: "changes" },
    { kind: "text", label: "Terminal: make (exit code 2)", text: "$ make" },
  ]);
});

test("an empty list of symbols says what to do, and choosing its row keeps the typed text", () => {
  assert.match(noSymbols("").detail, /Type a part of the name/);
  assert.match(noSymbols("rate").detail, /No extension for your language/);
  assert.equal(noSymbols("rate").value, "symbol:rate");
});
