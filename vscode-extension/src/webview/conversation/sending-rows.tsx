/** Draws prompts that were sent and whose turn has not begun. */
import { t } from "../../shared/l10n.ts";
import type { Outgoing } from "../../shared/state.ts";

export function SendingRows({ sending }: { readonly sending: readonly Outgoing[] }) {
  return sending.map((one) => (
    <div key={one.id} class="prompt sending">
      <p class="sr-only">{t("You, sending")}</p>
      <div class="prompt-words" dir="auto">
        {one.words}
      </div>
    </div>
  ));
}
