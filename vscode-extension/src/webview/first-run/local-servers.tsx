/** Lists model servers that run on this machine, each with its models. */

import { useState } from "preact/hooks";
import type { LocalRow } from "../../protocol.ts";
import { t } from "../../shared/l10n.ts";
import { Icon } from "../icon.tsx";
import { sentenceCase } from "../questions/sentence.tsx";
import type { Tried } from "./first-run.tsx";

interface Props {
  readonly rows: readonly LocalRow[];
  readonly busy: boolean;
  readonly login: (wish: Tried) => void;
  readonly refresh: () => void;
}

export function LocalServers({ rows, busy, login, refresh }: Props) {
  return (
    <section aria-labelledby="first-run-local">
      <div class="row first-run-head">
        <h2 id="first-run-local">{t("On this machine")}</h2>
        <button type="button" class="link-button" disabled={busy} onClick={refresh}>
          {t("Look again")}
        </button>
      </div>
      {rows.length === 0 && (
        <p class="muted">
          {t(
            "No model server answers. Start Ollama, LM Studio, llama.cpp or vLLM, then look again.",
          )}
        </p>
      )}
      {rows.map((row) => (
        <Local key={row.url} row={row} busy={busy} login={login} />
      ))}
    </section>
  );
}

function Local({ row, busy, login }: { readonly row: LocalRow } & Pick<Props, "busy" | "login">) {
  const [model, setModel] = useState(row.models[0] ?? "");
  return (
    <div class="first-run-local card">
      <p>
        <strong>{row.title}</strong> <span class="muted">{row.url}</span>
      </p>
      {row.note !== "" && (
        <p class="first-run-note">
          <Icon name="warning" /> <span>{sentenceCase(row.note)}</span>
        </p>
      )}
      {row.models.length > 0 && (
        <div class="row">
          <select
            class="field"
            aria-label={t("Model of {0}", row.title)}
            value={model}
            onChange={(event) => setModel(event.currentTarget.value)}
          >
            {row.models.map((name) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
          <button
            type="button"
            class="button"
            disabled={busy}
            onClick={() => login({ provider: row.url, key: "", model })}
          >
            {t("Use")}
          </button>
        </div>
      )}
    </div>
  );
}
