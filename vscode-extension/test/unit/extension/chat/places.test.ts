/** The links, files and resources that the conversation can reach (UI-02, UI-06). */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { isGuarded } from "../../../../src/extension/chat/editor/guarded.ts";
import { insideOf, newInside } from "../../../../src/extension/chat/editor/inside.ts";
import { codeHandlers, placeIn } from "../../../../src/extension/chat/handlers/code.ts";
import { linkHandlers, webTarget } from "../../../../src/extension/chat/handlers/links.ts";
import { pageHtml } from "../../../../src/extension/chat/panel/html.ts";
import type { CodeTarget } from "../../../../src/extension/chat/ports.ts";
import { fakeRoom } from "./fake-room.ts";

const HOSTILE = [
  "http://example.com/",
  "javascript:alert(1)",
  "data:text/html,<script>alert(1)</script>",
  "command:workbench.action.terminal.new",
  "vscode://evil.extension/run",
  "file:///etc/passwd",
  "vscode-remote://ssh/x",
  "https://user:password@example.com/",
  "https://",
  "//example.com",
  "blob:https://example.com/1",
];

test("UI-02 only https links open, after a confirmation that names the real host", async () => {
  const room = fakeRoom(() => "Open");
  const { openLink } = linkHandlers(room);
  for (const href of HOSTILE) await openLink({ type: "openLink", href });
  assert.deepEqual(room.ports.did, []);
  await openLink({ type: "openLink", href: "https://EXAMPLE.com/a\u202e?q=1" });
  assert.deepEqual(room.ports.did, [
    "confirm Open example.com?",
    "browse https://example.com/a%E2%80%AE?q=1",
  ]);
});

test("UI-02 a link does not open without the user's confirmation", async () => {
  const room = fakeRoom(() => null);
  await linkHandlers(room).openLink({ type: "openLink", href: "https://example.com/" });
  assert.deepEqual(room.ports.did, ["confirm Open example.com?"]);
  assert.equal(webTarget("https://xn--pple-43d.com/")?.host, "xn--pple-43d.com");
});

test("UI-06 files outside the workspace folders are refused, also through symbolic links", async () => {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "indwell-inside-")));
  const folder = join(root, "ws");
  mkdirSync(join(folder, "src"), { recursive: true });
  mkdirSync(join(root, "ws-other"));
  for (const path of ["ws/src/a.py", "ws-other/secret", "secret"])
    writeFileSync(join(root, path), "");
  symlinkSync(join(root, "secret"), join(folder, "way-out"));
  symlinkSync(join(folder, "src", "a.py"), join(folder, "way-in"));
  const real = join(folder, "src", "a.py");
  assert.equal(await insideOf("src/a.py", [folder]), real);
  assert.equal(await insideOf(real, [folder]), real);
  assert.equal(await insideOf("way-in", [folder]), real);
  const refused = [
    "../secret",
    "way-out",
    join(root, "secret"),
    join(root, "ws-other/secret"),
    "src",
    "no",
    "\\\\host\\share\\a.py",
    "//host/share/a.py",
    "\\\\?\\C:\\a.py",
    "",
    ".",
  ];
  for (const path of refused) assert.equal(await insideOf(path, [folder]), null, path);
});

test("UI-06 a new file is created only inside the workspace folders, and not through a link that leaves them", async () => {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "indwell-new-")));
  const folder = join(root, "ws");
  mkdirSync(join(folder, "src"), { recursive: true });
  writeFileSync(join(folder, "src", "a.py"), "");
  symlinkSync(root, join(folder, "out"));
  symlinkSync(join(folder, "src"), join(folder, "in"));
  symlinkSync(join(root, "nothing"), join(folder, "dangling"));
  assert.equal(await newInside("src/new/b.py", [folder]), join(folder, "src", "new", "b.py"));
  assert.equal(await newInside("in/b.py", [folder]), join(folder, "src", "b.py"));
  const refused = ["src/a.py", "../b.py", "out/b.py", "dangling", "dangling/b.py", "src/a.py/b.py"];
  for (const path of [...refused, join(root, "b.py"), "//host/b.py", "", "."])
    assert.equal(await newInside(path, [folder]), null, path);
});

test("UI-06 files that control programs are protected in every spelling of their path", () => {
  const guarded = [
    ".vscode/tasks.json",
    "pkg/.VSCode/settings.json",
    ".git/hooks/pre-commit",
    ".git./config",
    ".vscode::$INDEX_ALLOCATION/tasks.json",
    "a\\.indwell\\config.toml",
    "x.code-workspace",
    "/home/u/.bashrc",
    ".zshenv",
    ".envrc",
    ".gitconfig",
    ".npmrc",
    ".bash_profile",
    "pkg/AGENTS.md",
    ".env.local",
    ".github/workflows/ci.yml",
    "web/package.json",
    ".pre-commit-config.yaml",
    ".v\u017fcode/tasks.json",
    "AGENTS.md:stream",
    "notes/today.chat.md",
  ];
  for (const path of guarded) assert.ok(isGuarded(path), path);
  const open = [
    "src/a.py",
    ".gitignore",
    "vscode/tasks.json",
    "bashrc",
    "package.json5",
    "docs/head",
    "src/b.ts:12",
    "",
  ];
  for (const path of open) assert.ok(!isGuarded(path), path);
});

/**
 * Presses both buttons of a code block, and returns the effects. `yes` answers the confirmations.
 */
async function pressButtons(target: Partial<CodeTarget>, yes: boolean): Promise<readonly string[]> {
  const last = (): string => room.ports.did.at(-1) ?? "";
  const room = fakeRoom(() => {
    if (!yes) return null;
    return last().startsWith("confirm Insert") ? "Insert" : "Apply";
  });
  room.ports.target = { ...room.ports.target, ...target };
  const { insertCode, applyCode } = codeHandlers(room, () => undefined);
  const failed = (error: Error): void =>
    void room.ports.did.push(error.message.split(":")[0] ?? "");
  await Promise.resolve(insertCode({ type: "insertCode", text: "x" })).catch(failed);
  await Promise.resolve(applyCode({ type: "applyCode", text: "x", target: null })).catch(failed);
  return room.ports.did;
}

test("UI-06 code goes into an open protected file only after a confirmation that names the file", async () => {
  const asked = ["confirm Insert the code into S?", "confirm Apply the code to S?"];
  for (const path of [".vscode/settings.json", "package.json", ".env"]) {
    const target = { name: "S", paths: ["src/a.py", path] }; // as if the first path were a link
    assert.deepEqual(await pressButtons(target, false), asked, path);
    assert.deepEqual(
      await pressButtons(target, true),
      [asked[0], "insert x", asked[1], "apply x to null"],
      path,
    );
  }
  assert.deepEqual(await pressButtons({}, false), ["insert x", "apply x to null"]);
});

test("UI-06 code for a protected file that only the model named is refused without a question", async () => {
  const target = { name: "AGENTS.md\u202e", paths: ["AGENTS.md"], isActive: false };
  const refused = "Code is not applied to AGENTS.md\\u202e unless you look at that file";
  assert.deepEqual(await pressButtons(target, true), [refused, refused]);
});

test("a code target is read as a path and a range of lines", () => {
  assert.deepEqual(placeIn("a.py"), { path: "a.py", first: null, last: null });
  assert.deepEqual(placeIn("src/a.py:12"), { path: "src/a.py", first: 11, last: 11 });
  assert.deepEqual(placeIn("a.py:12-20"), { path: "a.py", first: 11, last: 19 });
  assert.deepEqual(placeIn("a.py:20-12"), { path: "a.py", first: 19, last: 19 });
});

test("UI-02 the page loads nothing from the network, has one script and no inline event handler", () => {
  const html = pageHtml({
    source: "vscode-resource:",
    base: "vscode-resource:/dist",
    script: 'go("</script>", /<!--/);',
    style: '@font-face { src: url("./codicon.ttf?1") }',
    nonce: "n0",
    language: { name: "de", bundle: { 'Say "a"': "<b>" } },
    first: '{"text":"</div><b>a & b"}',
  });
  assert.match(html, /url\("vscode-resource:\/dist\/codicon\.ttf\?1"\)/);
  assert.match(html, /data-first="\{&quot;text&quot;:&quot;&lt;\/div>&lt;b>a &amp; b&quot;}"/);
  assert.match(html, /<html lang="de">/);
  assert.match(html, /data-language="{&quot;name&quot;:&quot;de&quot;,[^"]*:&quot;&lt;b>&quot;}}"/);
  assert.ok(html.includes('go("<\\/script>", /<!--/);\n//-->\n</script>'));
  const policy = /content="(default-src[^"]*)"/.exec(html)?.[1] ?? "";
  assert.deepEqual(policy.split("; "), [
    "default-src 'none'",
    "script-src 'nonce-n0'",
    "style-src vscode-resource: 'nonce-n0'",
    "font-src vscode-resource:",
    "img-src vscode-resource: data:",
    "base-uri 'none'",
    "form-action 'none'",
  ]);
  assert.equal(html.match(/<script/g)?.length, 1);
  assert.doesNotMatch(html, /\son\w+=|unsafe|connect-src|https?:/);
});

test("code without a clear place becomes a prompt after a confirmation", async () => {
  for (const yes of [true, false]) {
    const room = fakeRoom(() => (yes ? "Ask the Model" : null));
    room.ports.applied = { kind: "unknown", name: "src/a.py", several: true };
    const sent: string[] = [];
    const { applyCode } = codeHandlers(room, (words) => void sent.push(words));
    await applyCode({ type: "applyCode", text: "x = `a`\n```\n", target: null });
    assert.deepEqual(room.ports.did, ["confirm Where does this code belong in src/a.py?"]);
    const prompt =
      "Apply this code to src/a.py as an edit. Keep everything of the file that the code does not replace.\n\n````\nx = `a`\n```\n````";
    assert.deepEqual(sent, yes ? [prompt] : []);
  }
});

test("code that the file already contains changes nothing and shows a message", async () => {
  const room = fakeRoom();
  room.ports.applied = { kind: "there", name: "src/a.py" };
  const { applyCode } = codeHandlers(room, () => assert.fail("nothing is sent"));
  await applyCode({ type: "applyCode", text: "x = 1", target: "src/a.py:3-9" });
  assert.deepEqual(room.ports.did, ["say src/a.py has this code already"]);
});
