/**
 * Carries out the buttons of a code block. The code is never run; a protected file is only written
 * with the user's consent.
 */
import { t } from "../../../shared/l10n.ts";
import { visible } from "../../../shared/visible.ts";
import { isGuarded } from "../editor/guarded.ts";
import type { HandlersOf } from "../panel/bridge.ts";
import { readDiff } from "../placing/place-diff.ts";
import type { AsChange, Dialogs, MayChange } from "../ports.ts";
import { type Room, tell } from "../room.ts";

const WHY = t(
  "It is a protected file: programs run it, obey it, or read it as instructions. Look at the code first.",
);

/**
 * Asks whether to write to a protected file, which is named; `yes` is the button's label. Throws a
 * message for the user if only the model has named the file.
 */
function consent(dialogs: Dialogs, question: (name: string) => string, yes: string): MayChange {
  return async ({ name, paths, isActive }) => {
    if (!paths.some(isGuarded)) return true;
    if (!isActive) {
      throw new Error(
        t(
          "Code is not applied to {0} unless you look at that file: programs run or obey what stands there. Open it and try again, or copy the code.",
          visible(name),
        ),
      );
    }
    return (await dialogs.confirm(question(name), WHY, [yes])) === yes;
  };
}

const ASK = t("Ask the Model");
const SEVERAL = t("It fits in more than one place.");
const NONE = t("Too few lines of the code match the file.");
const HOW = t(
  "The model can make the edit, which you then review. Or mark the lines that the code replaces, and apply it again.",
);

/** Handlers for copy, insert and apply; `ask` sends a prompt. */
export function codeHandlers(
  room: Room,
  ask: (words: string) => void,
): HandlersOf<"copy" | "insertCode" | "applyCode"> {
  const { documents, dialogs, shell } = room.ports;
  const mayInsert = consent(dialogs, (name) => t("Insert the code into {0}?", name), t("Insert"));
  const mayApply = consent(dialogs, (name) => t("Apply the code to {0}?", name), t("Apply"));
  const asChange: AsChange = async (edit) => {
    const { connection, session, turns } = room.store.state;
    const turn = turns.at(-1)?.number;
    if (connection.kind !== "ready" || session === null || turn === undefined) return false;
    await room.backend.request("indwell/apply", { ...edit, session, turn });
    return true;
  };
  return {
    copy: async ({ text }) => {
      await shell.copy(text);
      dialogs.say(t("Copied"));
    },
    insertCode: async ({ text }) => {
      if ((await documents.insert(text, mayInsert)) === "nowhere") {
        tell(room, "info", t("Open a file and put the cursor where the code should go."));
      }
    },
    applyCode: async ({ text, target }) => {
      const named = target ?? readDiff(text)?.target ?? null;
      const place = named === null ? null : placeIn(named);
      const done = await documents.apply(text, place, mayApply, asChange);
      if (done === "nowhere") {
        tell(room, "info", t("Open the file that the code is for, then apply it again."));
      } else if (typeof done === "object" && done.kind === "there") {
        dialogs.say(t("{0} has this code already", visible(done.name)));
      } else if (typeof done === "object" && done.kind === "unknown") {
        const words = t("Where does this code belong in {0}?", visible(done.name));
        const why = `${done.several ? SEVERAL : NONE} ${HOW}`;
        if ((await dialogs.confirm(words, why, [ASK])) === ASK) ask(editPrompt(done.name, text));
      }
    },
  };
}

/** Asks the agent to insert code if its position in the file is unclear. */
function editPrompt(name: string, code: string): string {
  const longest = Math.max(2, ...[...code.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  const words = t(
    "Apply this code to {0} as an edit. Keep everything of the file that the code does not replace.",
    name,
  );
  return `${words}\n\n${fence}\n${code.trimEnd()}\n${fence}`;
}

/**
 * Parses `path`, `path:12` or `path:12-20`; lines count from 1 in the text and from 0 in the
 * result.
 */
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
