/** Which files programs run or obey by themselves, by the list and the comparison of the server. Pure. */
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
 * Whether a path (`/` or `\` between its parts) leads to such a file; letters of both sizes are the same.
 * One that begins at the workspace's folder is so with a dot name, too, that nobody knows.
 */
export function isGuarded(path: string): boolean {
  const names = path.split(/[\\/]+/);
  // Windows reads `name::$DATA` as `name`.
  const plain = names.map((name) => name.replace(/:.*$/su, ""));
  const both = [names.map(compared), plain.map(compared)];
  return names.at(-1) === BARE || both.some((all) => isUnknown(all) || isListed(all));
}

/** At the root of a repository tools look for such. */
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

/** Matches whole names of a list; a star is for any characters. */
function matcher(names: readonly string[]): RegExp {
  const each = names.map((name) => name.split("*").map(escaped).join(".*"));
  return new RegExp(`^(?:${each.join("|")})$`, "su");
}

function escaped(text: string): string {
  return text.replace(/[$()+.?[\]^{|}\\]/gu, "\\$&");
}

/** A name without case and composed, and without the dots and blanks at its end, which Windows drops. */
function compared(name: string): string {
  const seen = name.replace(SHOWS_NOTHING, "").normalize("NFC");
  // Up and down again: `ſ` and `ß` are then what they are for a disk that ignores case.
  const folded = seen.toLowerCase().toUpperCase().toLowerCase().normalize("NFC");
  return folded.replace(/[. ]+$/u, "") || folded;
}
