/**
 * Recognises files of the workspace in the model's text (`path`, `path:12`, `path:12-20`,
 * `path#L3-L9`), also after the fence of a code block, and checks links: a target must be an https
 * address or a file of the workspace. Pure.
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

/** The parsed text after the opening fence. */
export interface Fence {
  readonly language: string;
  /** The file that the code is meant for, if the model named one. */
  readonly target: string | null;
}

/**
 * Parses `python`, `python invoice.py`, `python:invoice.py` or `python title="invoice.py"`. Pure.
 */
export function readFence(info: string): Fence {
  const language = (/^[\w+#.-]+/.exec(info)?.[0] ?? "").toLowerCase();
  const rest = info.slice(language.length).replace(/^[\s:]+/, "");
  const named =
    /(?:title|file|filename|path)=["']?([^"'\s}]+)/.exec(rest)?.[1] ?? rest.split(/\s/)[0] ?? "";
  const alone = language.includes(".") ? fileReference(language) : null;
  return {
    language: alone === null ? language : (language.split(".").at(-1) ?? ""),
    target: alone ?? fileReference(named),
  };
}

type LinkTarget =
  | { readonly kind: "web"; readonly href: string }
  | { readonly kind: "file"; readonly target: string };

/**
 * Returns the target, or null if the text must not be a link: for other schemes, logins in
 * addresses, and hidden characters.
 */
export function linkTarget(href: string): LinkTarget | null {
  const decoded = decode(href);
  if (decoded === null || hides(decoded) || /[\s\\<>"'`]/.test(href)) return null;
  if (/^https:\/\//i.test(href)) return web(href);
  if (/^[a-z][a-z0-9+.-]*:/i.test(decoded) && !/^[^:/]+\.[a-z0-9]{1,8}:\d+/i.test(decoded))
    return null;
  const target = decoded.startsWith("//") ? null : fileReference(decoded);
  return target === null ? null : { kind: "file", target };
}

function web(href: string): LinkTarget | null {
  const url = URL.parse(href);
  if (url === null || url.protocol !== "https:" || url.hostname === "") return null;
  if (url.username !== "" || url.password !== "") return null;
  return { kind: "web", href: url.href };
}

function decode(href: string): string | null {
  try {
    return decodeURIComponent(href);
  } catch {
    return null;
  }
}
