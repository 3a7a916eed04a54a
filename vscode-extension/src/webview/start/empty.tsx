/** Draws the empty panel: one sentence, and suggestions from the open file. */

import { useEffect } from "preact/hooks";
import { t } from "../../shared/l10n.ts";
import { isBusy } from "../../shared/state/selectors.ts";
import type { NearModel } from "../../shared/state/state.ts";
import { lackingWords } from "../../shared/words.ts";
import type { ViewProps } from "../host/channel.ts";

export function Empty({ state, post }: ViewProps) {
  if (state.connection.kind !== "ready") return <div class="empty" />;
  if (state.status !== null && state.status.lacking !== "" && !isBusy(state)) {
    return <Start lacking={state.status.lacking} near={state.near} post={post} />;
  }
  if (state.status !== null && state.status.demo !== "") return <Demo post={post} />;
  return (
    <div class="empty">
      <p>{t("Ask about the code, or say what to change.")}</p>
      {state.suggestions.length > 0 && (
        <ul aria-label={t("Suggestions")}>
          {state.suggestions.map((one) => (
            <li key={one.title}>
              <button
                type="button"
                class="suggestion"
                title={one.prompt}
                onClick={() => post({ type: "send", text: one.prompt, how: "auto" })}
              >
                {one.title}
              </button>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

type StartProps = Pick<ViewProps, "post"> & {
  readonly lacking: string;
  readonly near: NearModel | null;
};

/** Draws the block for a new user, in the middle of the otherwise empty panel. */
function Start({ lacking, near, post }: StartProps) {
  useEffect(() => post({ type: "firstRun", step: "look" }), []);
  return (
    <section class="empty start" aria-label={t("First steps")}>
      <Mark />
      <p>{t("Indwell reads, changes and runs code in this editor, and you decide what stays.")}</p>
      {near !== null && (
        <button
          type="button"
          class="button"
          title={t("{0} of {1}, which runs on this machine", near.model, near.title)}
          onClick={() =>
            post({ type: "login", provider: near.url, key: "", url: null, model: near.model })
          }
        >
          {t("Use {0}", near.model)}
        </button>
      )}
      <button
        type="button"
        class={near === null ? "button" : "button secondary"}
        onClick={() => post({ type: "command", command: "connect" })}
      >
        {t("Connect a model")}
      </button>
      <button
        type="button"
        class="button secondary"
        title={t("Models that VS Code itself offers: no key is needed")}
        onClick={() => post({ type: "command", command: "useEditorModels" })}
      >
        {t("Use Copilot’s models")}
      </button>
      <button
        type="button"
        class="button secondary"
        title={t("A made-up project in a new window, with scripted answers: no key and no network")}
        onClick={() => post({ type: "command", command: "demo" })}
      >
        {t("Try without a key")}
      </button>
      <p class="start-lacking">{lackingWords(lacking).sentence}</p>
    </section>
  );
}

/** The block of a demo's window. */
function Demo({ post }: Pick<ViewProps, "post">) {
  return (
    <section class="empty start" aria-label={t("Demo")}>
      <Mark />
      <p>
        {t(
          "This is a demo. The marked function has a fault, and a script fixes it: no language model answers, and nothing leaves this machine.",
        )}
      </p>
      <button
        type="button"
        class="button"
        onClick={() => post({ type: "command", command: "demo" })}
      >
        {t("Fix this")}
      </button>
      <p class="start-lacking">{t("Then accept or reject the change in the file.")}</p>
    </section>
  );
}

/** Draws the logo of `media/indwell.svg`. */
function Mark() {
  return (
    <svg class="start-mark" viewBox="0 0 24 24" aria-hidden="true">
      <path d="M4 10.5 12 4l8 6.5V20H4z" />
      <path d="m9.5 12 2.5 2-2.5 2" />
      <path d="M13 16.5h2.5" />
    </svg>
  );
}
