/** Offers the editor's own models, such as Copilot's, which need no address and no key. */

import { useState } from "preact/hooks";
import { t } from "../../shared/l10n.ts";
import type { Tried } from "./first-run.tsx";

/** The name by which the server knows the editor. */
const EDITOR = "vscode";

interface Props {
  readonly models: readonly string[];
  readonly busy: boolean;
  readonly login: (wish: Tried) => void;
}

export function EditorModels({ models, busy, login }: Props) {
  const [model, setModel] = useState(models[0] ?? "");
  if (models.length === 0) return null;
  return (
    <section aria-labelledby="first-run-editor">
      <h2 id="first-run-editor">{t("The editor’s models")}</h2>
      <div class="row">
        <select
          class="field"
          aria-label={t("Model of VS Code")}
          value={model}
          onChange={(event) => setModel(event.currentTarget.value)}
        >
          {models.map((name) => (
            <option key={name} value={name}>
              {name.replace(/@vscode$/, "")}
            </option>
          ))}
        </select>
        <button
          type="button"
          class="button"
          disabled={busy}
          onClick={() => login({ provider: EDITOR, key: "", model })}
        >
          {t("Use")}
        </button>
      </div>
      <p class="muted">
        {t(
          "No key is needed. VS Code may ask whether Indwell may use the model. Requests count against your subscription.",
        )}
      </p>
    </section>
  );
}
