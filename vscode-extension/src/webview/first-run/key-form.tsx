/** A form for a known provider, or for another address, with a key. */

import { useEffect, useRef, useState } from "preact/hooks";
import type { KnownRow } from "../../protocol.ts";
import { t } from "../../shared/l10n.ts";
import type { Post } from "../view-props.ts";
import type { Tried } from "./first-run.tsx";

interface Props {
  readonly rows: readonly KnownRow[];
  readonly busy: boolean;
  readonly login: (wish: Tried) => void;
  readonly post: Post;
  /** Whether this form is the only choice; then the field of the key has the focus. */
  readonly alone: boolean;
}

const OWN = "own"; // No provider of the catalogue has this name.

export function KeyForm({ rows, busy, login, post, alone }: Props) {
  const [name, setName] = useState(rows[0]?.name ?? OWN);
  const [missing, setMissing] = useState("");
  const address = useRef<HTMLInputElement>(null);
  const key = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (alone) key.current?.focus();
  }, [alone]);
  const row = rows.find((one) => one.name === name);
  const submit = (event: Event) => {
    event.preventDefault();
    const provider = row?.name ?? address.current?.value.trim() ?? "";
    const typed = key.current?.value.trim() ?? "";
    if (provider === "") return miss(t("Type the address of the endpoint"), address.current);
    if (row !== undefined && typed === "") return miss(t("Type the key"), key.current);
    setMissing("");
    // No copy of the key stays here: neither in the field nor in the state.
    if (key.current !== null) key.current.value = "";
    login({ provider, key: typed, model: null });
  };
  const miss = (words: string, field: HTMLInputElement | null) => {
    setMissing(words);
    field?.focus();
  };
  return (
    <section aria-labelledby="first-run-key">
      <h2 id="first-run-key">{t("With a key")}</h2>
      <form class="first-run-form" autocomplete="off" onSubmit={submit}>
        <label>
          <span>{t("Provider")}</span>
          <select
            class="field"
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
          >
            {rows.map((one) => (
              <option key={one.name} value={one.name}>
                {one.title}
              </option>
            ))}
            <option value={OWN}>{t("Another address…")}</option>
          </select>
        </label>
        {row === undefined && (
          <label>
            <span>{t("Address")}</span>
            <input
              ref={address}
              class="field"
              type="text"
              inputMode="url"
              spellcheck={false}
              placeholder={"https://api.example.com/v1"}
            />
          </label>
        )}
        <label>
          <span>{row === undefined ? t("Key, if it wants one") : t("Key")}</span>
          <input ref={key} class="field" type="password" autocomplete="off" spellcheck={false} />
        </label>
        {missing !== "" && (
          <p class="failed" role="alert">
            {missing}
          </p>
        )}
        <div class="row first-run-send">
          <button type="submit" class="button" disabled={busy}>
            {t("Test and connect")}
          </button>
          {row !== undefined && row.page !== "" && (
            <button
              type="button"
              class="link-button"
              title={row.page}
              onClick={() => post({ type: "openLink", href: row.page })}
            >
              {t("Make a key")}
            </button>
          )}
        </div>
        <p class="muted">
          {t(
            "The key is kept in this editor’s secret storage and goes to {0} only. A variable that a shell exports is not seen by an editor that was started from the desktop.",
            row?.url ?? t("that address"),
          )}
        </p>
      </form>
    </section>
  );
}
