/** Describes each mode in one line, for the picker, the palette and the settings. Pure. */
import { t } from "./l10n.ts";

/** Returns one sentence that describes a mode, or an empty text for an unknown mode. */
export function modeWords(mode: string): string {
  switch (mode) {
    case "plan":
      return t("Reads and plans; changes nothing");
    case "ask":
      return t("Asks before each edit");
    case "review":
      return t("Edits at once; you accept or reject each change afterwards");
    case "auto":
      return t("Edits at once, without review");
    default:
      return "";
  }
}
