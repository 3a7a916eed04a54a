/**
 * Recognises files of the workspace in the model's text: `path`, `path:12`, `path:12-20`,
 * `path#L3-L9`. Pure.
 */
import { hides } from "./invisible.ts";

const SEGMENT = "[\\p{L}\\p{N}_@+.()\\[\\]-][\\p{L}\\p{N}_@+.()\\[\\] -]*";
const SHAPE = new RegExp(
  `^(?<path>(?:\\./)?(?:${SEGMENT}/)*${SEGMENT})(?::(?<from>\\d{1,7})(?:[:-](?<to>\\d{1,7}))?|#L(?<first>\\d{1,7})(?:-L?(?<last>\\d{1,7}))?)?$`,
  "u",
);
/**
 * Extensions of files: a name without a folder and a line must have one of them, because
 * `self.total` is no file.
 */
const ENDINGS = new Set(
  (
    "c cc cfg cjs cpp cs css csv cts env go gradle h hpp html ini ipynb java js json jsonc jsx kt lock lua md mjs " +
    "mts php pl proto ps1 py pyi rb rs rst scala sh sql svelte svg swift tex toml ts tsx txt vue xml yaml yml zig"
  ).split(" "),
);
const BARE = new Set(["Dockerfile", "Makefile", "LICENSE", "README", ".gitignore", ".env"]);
const LONGEST = 400;

/**
 * Returns the file to open (`path`, `path:12` or `path:12-20`), or null if the text does not name a
 * file.
 */
export function fileReference(words: string): string | null {
  if (words.length > LONGEST || hides(words)) return null;
  const groups = SHAPE.exec(words)?.groups;
  const path = groups?.["path"];
  if (groups === undefined || path === undefined || !plausible(path, groups)) return null;
  const from = groups["from"] ?? groups["first"];
  const to =
    words.includes("#L") || /:\d+-\d+$/.test(words) ? (groups["to"] ?? groups["last"]) : undefined;
  const lines = from === undefined ? "" : to === undefined ? `:${from}` : `:${from}-${to}`;
  return `${path.replace(/^\.\//, "")}${lines}`;
}

function plausible(path: string, groups: Readonly<Record<string, string | undefined>>): boolean {
  const names = path.split("/");
  if (names.some((name) => name === "..") || path.startsWith("/")) return false;
  const name = names.at(-1) ?? "";
  const dot = name.lastIndexOf(".");
  const ending = dot > 0 ? name.slice(dot + 1) : "";
  if (BARE.has(name) || ENDINGS.has(ending.toLowerCase())) return true;
  const hasLines = groups["from"] !== undefined || groups["first"] !== undefined;
  return hasLines && /^[a-z]\w{0,9}$/i.test(ending);
}
