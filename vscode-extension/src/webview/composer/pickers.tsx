/** The menus of the footer: mode, reasoning effort and model, with the texts of their rows. */
import { useCallback, useRef, useState } from "preact/hooks";
import type { ModelRow } from "../../protocol.ts";
import { number, t } from "../../shared/l10n.ts";
import { AUTO, effortWords, lackingWords, modeWords, tokenFigure } from "../../shared/words.ts";
import { Icon } from "../elements.tsx";
import type { ViewProps } from "../host/channel.ts";
import { PickerButton, Popup } from "./popup.tsx";

/** Formats a price for a million tokens in US dollars: `$0.30`, `$15`, `$0.075`, `free`. */
export function priceWords(dollars: number): string {
  if (dollars === 0) return t("free");
  const digits = dollars < 0.1 ? 3 : 2;
  return number(dollars, {
    style: "currency",
    currency: "USD",
    currencyDisplay: "narrowSymbol",
    minimumFractionDigits: Number.isInteger(dollars) ? 0 : digits,
    maximumFractionDigits: digits,
  });
}

/** The ending of the names of the editor's own models. */
const EDITORS = "@vscode";

/**
 * Returns a line such as `128k window · $0.30 in, $1.20 out for a million tokens · no tools`, or an
 * empty text if nothing is known.
 */
export function modelWords(model: ModelRow): string {
  const parts: string[] = [];
  if (model.name.endsWith(EDITORS)) parts.push(t("through VS Code"));
  if (model.window !== null) parts.push(t("{0} window", tokenFigure(model.window)));
  if (model.input === 0 && model.output === 0) parts.push(t("free"));
  else if (model.input !== null && model.output !== null) {
    parts.push(t("{0} in, {1} out per million", priceWords(model.input), priceWords(model.output)));
  }
  if (model.tools === true) parts.push(t("tools"));
  if (model.tools === false) parts.push(t("no tools"));
  return parts.join(" · ");
}

/** Returns a model's name for a narrow button, without the maker before a slash. */
export function shortModelName(name: string): string {
  if (name.endsWith(EDITORS)) return name.slice(name.indexOf("/") + 1);
  return name.slice(name.lastIndexOf("/") + 1) || name;
}

/** The modes, from the strictest to the least strict. */
const MODES = ["plan", "ask", "review", "auto"] as const;

/** Returns the codicon for a mode. */
function modeIcon(mode: string): string {
  switch (mode) {
    case "plan":
      return "list-ordered";
    case "ask":
      return "question";
    case "review":
      return "diff";
    case "auto":
      return "zap";
    default:
      return "circle";
  }
}

/** A menu for the mode of prompts, with one line of explanation for each mode. */
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

/** A menu for the reasoning effort, shown only for a model that is known to reason. */
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

/** A menu for the model, with window, price and tools, and an entry to manage keys. */
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
