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

test("a pasted text of more than 2,000 characters or 40 lines becomes a chip", () => {
  assert.equal(isLong("x".repeat(2_000)), false);
  assert.equal(isLong("x".repeat(2_001)), true);
  assert.equal(isLong("a\n".repeat(40)), false);
  assert.equal(isLong("a\n".repeat(41)), true);
});

test("a pasted text that is too long for a chip stays in the composer", () => {
  assert.equal(isLong("x".repeat(LARGEST_TEXT + 1)), false);
});

test("a chip states the number of pasted lines or characters", () => {
  assert.equal(textLabel("a\n".repeat(52)), "Pasted text, 52 lines");
  assert.equal(textLabel("x".repeat(3_000)), "Pasted text, 3,000 characters");
});

test("pictures in supported formats are accepted, and other, large or too many files are refused with a reason", () => {
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

test("dropped URIs are read once each from the editor's list, the standard list or JSON", () => {
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
