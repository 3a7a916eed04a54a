/** Decides whether code of the conversation may be written to a file; a protected file needs the user's consent. */
import { t } from "../../../shared/l10n.ts";
import { visible } from "../../../shared/visible.ts";
import type { Dialogs, MayChange } from "../ports.ts";
import { isGuarded } from "./guarded.ts";

const WHY = t(
  "It is a protected file: programs run it, obey it, or read it as instructions. Look at the code first.",
);

/**
 * Asks whether to write to a protected file, which is named; `yes` is the button's label. Throws a
 * message for the user if only the model has named the file.
 */
export function consent(
  dialogs: Dialogs,
  question: (name: string) => string,
  yes: string,
): MayChange {
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
