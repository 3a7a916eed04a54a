import assert from "node:assert/strict";
import { test } from "node:test";
import {
  droppedUris,
  isLong,
  LARGEST_PICTURE,
  LARGEST_TEXT,
  pictureProblem,
  textLabel,
} from "../../../../src/webview/composer/attaching.ts";

test("more than 2,000 characters or 40 lines become a chip", () => {
  assert.equal(isLong("x".repeat(2_000)), false);
  assert.equal(isLong("x".repeat(2_001)), true);
  assert.equal(isLong("a\n".repeat(40)), false);
  assert.equal(isLong("a\n".repeat(41)), true);
});

test("what is too long for a chip stays in the composer, so that nothing of it is cut", () => {
  assert.equal(isLong("x".repeat(LARGEST_TEXT + 1)), false);
});

test("a chip says how much was pasted", () => {
  assert.equal(textLabel("a\n".repeat(52)), "Pasted text, 52 lines");
  assert.equal(textLabel("x".repeat(3_000)), "Pasted text, 3,000 characters");
});

test("pictures that models take go along; the others get one sentence", () => {
  const problem = (type: string, size = 10, pictures = 0) =>
    pictureProblem({ name: "a.png", type, size }, pictures);
  for (const type of ["image/png", "image/jpeg", "image/gif", "image/webp"]) {
    assert.equal(problem(type), "");
  }
  assert.match(problem("image/svg+xml"), /PNG, JPEG, GIF and WebP/);
  assert.match(problem("application/zip"), /not a picture/);
  assert.match(problem("image/png", LARGEST_PICTURE + 1), /5 MB/);
  assert.match(problem("image/png", 10, 10), /10 pictures/);
});

test("addresses are read from the editor's own list, the common one, or JSON, each once", () => {
  const read = (data: Readonly<Record<string, string>>) => droppedUris((type) => data[type] ?? "");
  assert.deepEqual(
    read({
      "application/vnd.code.uri-list": "file:///a\r\nfile:///b\r\nfile:///a",
      "text/uri-list": "file:///c",
    }),
    ["file:///a", "file:///b"],
  );
  assert.deepEqual(read({ "text/uri-list": "# comment\r\nfile:///c" }), ["file:///c"]);
  assert.deepEqual(read({ ResourceURLs: '["file:///d", 3]' }), ["file:///d"]);
  assert.deepEqual(read({ ResourceURLs: "[broken", "text/plain": "file:///e" }), []);
});
