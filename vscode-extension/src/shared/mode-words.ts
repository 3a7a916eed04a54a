/** Describes each mode in one line, for the picker, the palette and the settings. Pure. */

/** Returns one sentence that describes a mode, or an empty text for an unknown mode. */
export function modeWords(mode: string): string {
  switch (mode) {
    case "plan":
      return "Reads and plans; changes nothing";
    case "ask":
      return "Asks before each edit";
    case "review":
      return "Edits at once; you accept or reject each change afterwards";
    case "auto":
      return "Edits at once, without review";
    default:
      return "";
  }
}
