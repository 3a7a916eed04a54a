/**
 * Recognises protected files, which programs run or obey without a question, by the server's list.
 * Pure.
 */
import { NO_INK } from "../../../shared/visible.ts";
import { BARE, FILES, FOLDERS, HARMLESS, LIKE, RUNS } from "./protected-places.ts";

/** Some disks ignore these characters in names. */
const SHOWS_NOTHING = new RegExp(`[\\p{Cc}\\p{Cf}\\p{Cn}\\p{Co}\\p{Cs}${NO_INK}]`, "gu");
const folders = new Set(FOLDERS);
const files = new Set(FILES);
const like = matcher(LIKE);
const runs = RUNS.map((run) => run.split("/").map((part) => matcher([part])));
const harmless = matcher(HARMLESS);

/**
 * Returns whether a path (with `/` or `\` between its parts) is a protected file, ignoring case. At
 * the workspace's root, an unknown name with a leading dot is protected, too.
 */
export function isGuarded(path: string): boolean {
  const names = path.split(/[\\/]+/);
  // Windows reads `name::$DATA` as `name`.
  const plain = names.map((name) => name.replace(/:.*$/su, ""));
  const both = [names.map(compared), plain.map(compared)];
  return names.at(-1) === BARE || both.some((all) => isUnknown(all) || isListed(all));
}

/**
 * Returns whether a name with a leading dot is unknown; tools look for such names at a repository's
 * root.
 */
function isUnknown(all: readonly string[]): boolean {
  const first = all[0] === "" ? "" : (all.find((part) => part !== ".") ?? "");
  return first.startsWith(".") && first !== ".." && !harmless.test(first);
}

function isListed(all: readonly string[]): boolean {
  const parts = all.filter((part) => part !== "" && part !== ".");
  const name = parts.at(-1) ?? "";
  return (
    parts.some((part) => folders.has(part)) ||
    files.has(name) ||
    like.test(name) ||
    runs.some((run) =>
      parts.some((_, at) => run.every((part, below) => part.test(parts[at + below] ?? "/"))),
    )
  );
}

/** Matches whole names of a list; a star matches any characters. */
function matcher(names: readonly string[]): RegExp {
  const each = names.map((name) => name.split("*").map(escaped).join(".*"));
  return new RegExp(`^(?:${each.join("|")})$`, "su");
}

function escaped(text: string): string {
  return text.replace(/[$()+.?[\]^{|}\\]/gu, "\\$&");
}

/**
 * Returns a name in lower case and composed form, without trailing dots and blanks, which Windows
 * drops.
 */
function compared(name: string): string {
  const seen = name.replace(SHOWS_NOTHING, "").normalize("NFC");
  // Upper case, then lower case, so that `ſ` and `ß` compare as on a disk that ignores case.
  const folded = seen.toLowerCase().toUpperCase().toLowerCase().normalize("NFC");
  return folded.replace(/[. ]+$/u, "") || folded;
}
