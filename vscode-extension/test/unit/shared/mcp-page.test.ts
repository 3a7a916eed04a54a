import assert from "node:assert/strict";
import { test } from "node:test";
import {
  EMPTY_FORM,
  formProblems,
  type McpForm,
  namesOf,
  wordsOf,
} from "../../../src/shared/mcp-page.ts";

const PROGRAM: McpForm = { ...EMPTY_FORM, name: "files", line: "npx -y files ." };
const ADDRESS: McpForm = { ...EMPTY_FORM, name: "docs", kind: "address", url: "https://h.org/mcp" };

test("a valid form has no problems", () => {
  for (const form of [
    PROGRAM,
    { ...PROGRAM, variables: "TOKEN, _b", hosts: "api.github.com h.org:8080" },
    ADDRESS,
    { ...ADDRESS, url: "http://127.0.0.1:8080/mcp" },
    { ...ADDRESS, header: "Authorization", headerVariable: "DOCS_TOKEN" },
  ])
    assert.deepEqual(formProblems(form), {});
});

test("each invalid field has a problem, and fields of the other kind have none", () => {
  const invalidFields = (form: McpForm): readonly string[] => Object.keys(formProblems(form));
  assert.deepEqual(invalidFields(EMPTY_FORM), ["name", "line"]);
  assert.deepEqual(invalidFields({ ...PROGRAM, name: "My server" }), ["name"]);
  assert.deepEqual(invalidFields({ ...PROGRAM, variables: "TOKEN=abc" }), ["variables"]);
  assert.deepEqual(invalidFields({ ...PROGRAM, hosts: "https://h.org/x" }), ["hosts"]);
  assert.deepEqual(invalidFields({ ...ADDRESS, url: "http://far.example/mcp" }), ["url"]);
  assert.deepEqual(invalidFields({ ...ADDRESS, url: "ftp://far.example" }), ["url"]);
  assert.deepEqual(invalidFields({ ...ADDRESS, header: "X-Team" }), ["headerVariable"]);
  assert.deepEqual(invalidFields({ ...ADDRESS, headerVariable: "TEAM" }), ["header"]);
  assert.deepEqual(invalidFields({ ...ADDRESS, line: "sk-0123456789" }), []);
});

test("a key or a password in a command line or an address is refused", () => {
  for (const line of ["x --key sk-0123456789abcdef", "x 'Authorization: Bearer abcdefgh1234'"])
    assert.match(formProblems({ ...PROGRAM, line }).line ?? "", /variable of yours/);
  const url = "https://me:hunter22@h.org/mcp";
  assert.match(formProblems({ ...ADDRESS, url }).url ?? "", /variable of yours/);
});

test("a command line is split into arguments, and a list of names at blanks and commas", () => {
  assert.deepEqual(wordsOf("npx -y files ."), ["npx", "-y", "files", "."]);
  assert.deepEqual(wordsOf(`C:\\bin\\x.exe "a b" --c='d e'`), ["C:\\bin\\x.exe", "a b", "--c=d e"]);
  assert.deepEqual(wordsOf("  "), []);
  assert.deepEqual(namesOf(" A,B  C\n"), ["A", "B", "C"]);
});
