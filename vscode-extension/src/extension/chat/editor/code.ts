/** What the buttons of a code block do. Nothing of it is ever run. */
import { type Room, tell } from "../room.ts";
import type { HandlersOf } from "../wire/bridge.ts";
import { consent } from "./consent.ts";

/** Copy, insert, apply. */
export function codeHandlers(room: Room): HandlersOf<"copy" | "insertCode" | "applyCode"> {
  const { documents, dialogs, shell } = room.ports;
  const mayInsert = consent(dialogs, (name) => `Insert the code into ${name}?`, "Insert");
  const mayApply = consent(dialogs, (name) => `Apply the code to ${name}?`, "Show the Diff");
  return {
    copy: async ({ text }) => {
      await shell.copy(text);
      dialogs.say("Copied");
    },
    insertCode: async ({ text }) => {
      if ((await documents.insert(text, mayInsert)) === "nowhere") {
        tell(room, "info", "Open a file and put the cursor where the code is to go.");
      }
    },
    applyCode: async ({ text, target }) => {
      const path = target === null ? null : placeIn(target).path;
      if ((await documents.apply(text, path, mayApply)) === "nowhere") {
        tell(room, "info", "Open the file that the code is for, then apply it again.");
      }
    },
  };
}

/** `path`, `path:12`, `path:12-20`: lines from 1 there, from 0 in the answer. */
export function placeIn(target: string): {
  readonly path: string;
  readonly first: number | null;
  readonly last: number | null;
} {
  const found = /^(.*?):(\d{1,9})(?:-(\d{1,9}))?$/s.exec(target);
  if (found === null) return { path: target, first: null, last: null };
  const first = Math.max(0, Number(found[2]) - 1);
  const last = found[3] === undefined ? first : Math.max(first, Number(found[3]) - 1);
  return { path: found[1] ?? "", first, last };
}
