/** Which files programs run or obey by themselves, by the list and the comparison of the server. Pure. */
import { NO_INK } from "../../../shared/visible.ts";
import { BARE, BEGINNINGS, ENDINGS, FILES, FOLDERS, PAIRS } from "./protected-places.ts";

/** Some disks ignore these characters in names. */
const SHOWS_NOTHING = new RegExp(`[\\p{Cc}\\p{Cf}\\p{Cn}\\p{Co}\\p{Cs}${NO_INK}]`, "gu");
const folders = new Set(FOLDERS);
const files = new Set(FILES);
const pairs = new Set(PAIRS);

/** Whether a path (`/` or `\` between its parts) leads to such a file; letters of both sizes are the same. */
export function isGuarded(path: string): boolean {
  const names = path.split(/[\\/]+/);
  // Windows reads `name::$DATA` as `name`.
  const plain = names.map((name) => name.replace(/:.*$/su, ""));
  return names.at(-1) === BARE || isListed(names.map(compared)) || isListed(plain.map(compared));
}

function isListed(all: readonly string[]): boolean {
  const parts = all.filter((part) => part !== "" && part !== ".");
  const name = parts.at(-1) ?? "";
  return (
    parts.some((part) => folders.has(part)) ||
    files.has(name) ||
    BEGINNINGS.some((begin) => name.startsWith(begin)) ||
    ENDINGS.some((end) => name.endsWith(end)) ||
    parts.some((part, at) => pairs.has(`${parts[at - 1] ?? ""}/${part}`))
  );
}

/** A name without case and composed, and without the dots and blanks at its end, which Windows drops. */
function compared(name: string): string {
  const seen = name.replace(SHOWS_NOTHING, "").normalize("NFC");
  // Up and down again: `ſ` and `ß` are then what they are for a disk that ignores case.
  const folded = seen.toLowerCase().toUpperCase().toLowerCase().normalize("NFC");
  return folded.replace(/[. ]+$/u, "") || folded;
}
