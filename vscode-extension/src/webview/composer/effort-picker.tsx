/** A menu for the reasoning effort, shown only for a model that is known to reason. */

import { useCallback, useRef, useState } from "preact/hooks";
import { AUTO, effortWords } from "../../shared/effort-words.ts";
import { t } from "../../shared/l10n.ts";
import { Icon } from "../icon.tsx";
import type { ViewProps } from "../view-props.ts";
import { PickerButton } from "./picker-button.tsx";
import { Popup } from "./popup.tsx";

export function EffortPicker({ state, post }: Pick<ViewProps, "state" | "post">) {
  const [open, setOpen] = useState(false);
  const anchor = useRef<HTMLButtonElement>(null);
  const close = useCallback(() => setOpen(false), []);
  const { effort = "", efforts = [] } = state.status ?? {};
  if (efforts.length === 0) return null;
  const chosen = effort === "" ? AUTO : effort;
  return (
    <>
      <PickerButton
        anchor={anchor}
        label={t("Effort: {0}", chosen)}
        title={t("How much the model thinks: {0}", effortWords(chosen))}
        kind="menu"
        open={open}
        popup="effort-menu"
        class="effort-picker"
        onToggle={() => setOpen(!open)}
      >
        <Icon name="lightbulb" />
        {chosen !== AUTO && <span>{chosen}</span>}
        <Icon name="chevron-down" />
      </PickerButton>
      {open && (
        <Popup role="menu" id="effort-menu" label={t("Effort")} anchor={anchor} onClose={close}>
          {[AUTO, ...efforts].map((one) => (
            <button
              key={one}
              type="button"
              role="menuitemradio"
              class="menu-row"
              tabIndex={-1}
              aria-checked={one === chosen}
              onClick={() => {
                close();
                if (one !== chosen) post({ type: "effort", effort: one === AUTO ? "" : one });
              }}
            >
              <Icon name={one === chosen ? "check" : "blank"} />
              <span class="menu-words">
                <span class="menu-name">{one}</span>
                <span class="menu-detail">{effortWords(one)}</span>
              </span>
            </button>
          ))}
        </Popup>
      )}
    </>
  );
}
