/** A menu for the mode of prompts, with one line of explanation for each mode. */

import { useCallback, useRef, useState } from "preact/hooks";
import { t } from "../../shared/l10n.ts";
import { Icon } from "../icon.tsx";
import type { ViewProps } from "../view-props.ts";
import { MODES, modeIcon, modeWords } from "./mode-words.ts";
import { PickerButton } from "./picker-button.tsx";
import { Popup } from "./popup.tsx";

export function ModePicker({ state, post }: Pick<ViewProps, "state" | "post">) {
  const [open, setOpen] = useState(false);
  const anchor = useRef<HTMLButtonElement>(null);
  const close = useCallback(() => setOpen(false), []);
  const status = state.status;
  if (status === null) return null;
  const mode = status.mode;
  return (
    <>
      <PickerButton
        anchor={anchor}
        label={t("Mode: {0}", mode)}
        title={`${mode}: ${modeWords(mode)}`}
        kind="menu"
        open={open}
        popup="mode-menu"
        class="mode-picker"
        onToggle={() => setOpen(!open)}
      >
        <Icon name={modeIcon(mode)} />
        <span>{mode}</span>
        <Icon name="chevron-down" />
      </PickerButton>
      {open && (
        <Popup role="menu" id="mode-menu" label={t("Mode")} anchor={anchor} onClose={close}>
          {MODES.map((one) => (
            <ModeRow
              key={one}
              mode={one}
              chosen={one === mode}
              allowed={status.modes.includes(one)}
              trusted={status.trusted}
              onChoose={() => {
                close();
                if (one !== mode) post({ type: "mode", mode: one });
              }}
            />
          ))}
        </Popup>
      )}
    </>
  );
}

interface ModeRowProps {
  readonly mode: string;
  readonly chosen: boolean;
  readonly allowed: boolean;
  readonly trusted: boolean;
  readonly onChoose: () => void;
}

function ModeRow({ mode, chosen, allowed, trusted, onChoose }: ModeRowProps) {
  const barred = trusted
    ? t("Not allowed by the settings of this folder")
    : t("Needs a folder that you trust");
  return (
    <button
      type="button"
      role="menuitemradio"
      class="menu-row"
      tabIndex={-1}
      aria-checked={chosen}
      aria-disabled={!allowed}
      onClick={() => allowed && onChoose()}
    >
      <Icon name={chosen ? "check" : "blank"} />
      <span class="menu-words">
        <span class="menu-name">{mode}</span>
        <span class="menu-detail">{allowed ? modeWords(mode) : barred}</span>
      </span>
    </button>
  );
}
