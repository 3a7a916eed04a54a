/**
 * Connects a model: shows local servers, a form for a provider with a key, and the outcome of the
 * test.
 */

import { useEffect, useRef, useState } from "preact/hooks";
import { t } from "../../shared/l10n.ts";
import { lackingWords } from "../../shared/lacking-words.ts";
import { Icon } from "../icon.tsx";
import type { ViewProps } from "../view-props.ts";
import { EditorModels } from "./editor-models.tsx";
import { KeyForm } from "./key-form.tsx";
import { LocalServers } from "./local-servers.tsx";
import { Outcome } from "./outcome.tsx";

/** The target of the last test; only the host has the key that was used. */
export interface Tried {
  readonly provider: string;
  readonly key: string | null;
  readonly model: string | null;
}

export function FirstRun({ state, post }: ViewProps) {
  const flow = state.firstRun;
  const [tried, setTried] = useState<Tried | null>(null);
  const heading = useRef<HTMLHeadingElement>(null);
  const nearby = flow?.providers ?? null;
  // If no local server runs and VS Code has no model, the user needs the field of the key.
  const needsKey = nearby !== null && nearby.local.length + nearby.editor.length === 0;
  useEffect(() => {
    if (!needsKey) heading.current?.focus();
  }, []);
  if (flow === null) return null;
  const lacking = lackingWords(flow.reason);
  const login = (wish: Tried) => {
    // The key is sent only in this one message; the panel remembers only the target.
    setTried({ ...wish, key: null });
    post({ type: "login", provider: wish.provider, key: wish.key, url: null, model: wish.model });
  };
  const again = (model: string) => tried !== null && login({ ...tried, model });
  return (
    <div class="first-run">
      <h1 ref={heading} tabIndex={-1}>
        {t("Connect a model")}
      </h1>
      {lacking.sentence !== "" && <p class="muted">{lacking.sentence}</p>}
      {lacking.details !== "" && (
        <details class="muted">
          <summary>{t("Details")}</summary>
          {lacking.details}
        </details>
      )}
      {flow.error !== "" && (
        <p class="first-run-error" role="alert">
          <Icon name="error" /> <span>{flow.error}</span>
        </p>
      )}
      {flow.busy && (
        <p class="first-run-busy" role="status">
          <Icon name="loading" spin />{" "}
          {tried === null || flow.providers === null
            ? t("Looking for model servers on this machine…")
            : t("Testing: the address, the key, a streamed answer, a call of a tool…")}
        </p>
      )}
      {flow.outcome !== null && (
        <Outcome
          outcome={flow.outcome}
          named={(tried?.model ?? null) !== null}
          choose={again}
          post={post}
        />
      )}
      {flow.outcome?.ok !== true && flow.providers !== null && (
        <>
          <EditorModels models={flow.providers.editor} busy={flow.busy} login={login} />
          <LocalServers
            rows={flow.providers.local}
            busy={flow.busy}
            login={login}
            refresh={() => {
              setTried(null);
              post({ type: "firstRun", step: "refresh" });
            }}
          />
          <KeyForm
            rows={flow.providers.known}
            busy={flow.busy}
            login={login}
            post={post}
            alone={needsKey}
          />
        </>
      )}
      {flow.outcome?.ok !== true && (
        <button
          type="button"
          class="link-button first-run-later"
          onClick={() => post({ type: "firstRun", step: "cancel" })}
        >
          {t("Not now")}
        </button>
      )}
    </div>
  );
}
