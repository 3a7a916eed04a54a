/** A menu for the model, with window, price and tools, and an entry to manage keys. */

import { useCallback, useRef, useState } from "preact/hooks";
import type { ModelRow } from "../../protocol.ts";
import { t } from "../../shared/l10n.ts";
import { lackingWords } from "../../shared/lacking-words.ts";
import { Icon } from "../icon.tsx";
import type { ViewProps } from "../view-props.ts";
import { modelWords, shortModelName } from "./model-words.ts";
import { PickerButton } from "./picker-button.tsx";
import { Popup } from "./popup.tsx";

export function ModelPicker({ state, post }: Pick<ViewProps, "state" | "post">) {
  const [open, setOpen] = useState(false);
  const anchor = useRef<HTMLButtonElement>(null);
  const close = useCallback(() => setOpen(false), []);
  const chosen = state.status?.model ?? "";
  const name = chosen === "" ? t("No model") : shortModelName(chosen);
  const known = state.models?.find((model) => model.name === chosen);
  const detail = known === undefined ? "" : modelWords(known);
  const command = (name: "connect" | "manageKeys") => {
    close();
    post({ type: "command", command: name });
  };
  if (state.status === null) return null;
  return (
    <>
      <PickerButton
        anchor={anchor}
        label={chosen === "" ? t("No model. Choose one") : t("Model: {0}", chosen)}
        title={[chosen, detail].filter((one) => one !== "").join("\n") || t("Choose a model")}
        kind="menu"
        open={open}
        popup="model-menu"
        class="model-picker"
        onToggle={() => setOpen(!open)}
      >
        <span>{name}</span>
        <Icon name="chevron-down" />
      </PickerButton>
      {open && (
        <Popup role="menu" id="model-menu" label={t("Model")} anchor={anchor} onClose={close}>
          <ModelRows
            models={state.models}
            chosen={chosen}
            lacking={state.status.lacking}
            onChoose={(model) => {
              close();
              if (model !== chosen) post({ type: "model", model });
            }}
          />
          <hr class="menu-line" />
          <CommandRow icon="plug" name="Connect a model…" onChoose={() => command("connect")} />
          <CommandRow icon="key" name="Manage keys…" onChoose={() => command("manageKeys")} />
        </Popup>
      )}
    </>
  );
}

interface ModelRowsProps {
  readonly models: readonly ModelRow[] | null;
  readonly chosen: string;
  /** Why no model can be called, or empty if a model can be called. */
  readonly lacking: string;
  readonly onChoose: (model: string) => void;
}

function ModelRows({ models, chosen, lacking, onChoose }: ModelRowsProps) {
  if (models === null && lacking !== "")
    return <p class="menu-note">{lackingWords(lacking).sentence}</p>;
  if (models === null) return <p class="menu-note">{t("Asking which models there are…")}</p>;
  if (models.length === 0)
    return <p class="menu-note">{t("No provider says which models it has.")}</p>;
  return (
    <fieldset aria-label={t("Models")} class="menu-scroll">
      {models.map((model) => (
        <button
          key={model.name}
          type="button"
          role="menuitemradio"
          class="menu-row"
          tabIndex={-1}
          aria-checked={model.name === chosen}
          onClick={() => onChoose(model.name)}
        >
          <Icon name={model.name === chosen ? "check" : "blank"} />
          <span class="menu-words">
            <span class="menu-name">{model.name}</span>
            <span class="menu-detail">{modelWords(model)}</span>
          </span>
        </button>
      ))}
    </fieldset>
  );
}

interface CommandRowProps {
  readonly icon: string;
  readonly name: string;
  readonly onChoose: () => void;
}

function CommandRow({ icon, name, onChoose }: CommandRowProps) {
  return (
    <button type="button" role="menuitem" class="menu-row" tabIndex={-1} onClick={onChoose}>
      <Icon name={icon} />
      <span class="menu-words">
        <span class="menu-name">{name}</span>
      </span>
    </button>
  );
}
