/**
 * Connects a model: shows local servers with their models, the editor's own models, a form for a
 * provider with a key, and the outcome of the test.
 */
import { useEffect, useRef, useState } from "preact/hooks";
import type { KnownRow, LocalRow, LoginResult, StepRow } from "../../protocol.ts";
import { t } from "../../shared/l10n.ts";
import { lackingWords } from "../../shared/words.ts";
import { Icon, sentenceCase } from "../elements.tsx";
import type { Post, ViewProps } from "../host/channel.ts";

interface OutcomeProps {
  readonly outcome: LoginResult;
  /**
   * Whether the user named a model. If not, a missing model is no failure, because the list below
   * asks for a model.
   */
  readonly named: boolean;
  readonly choose: (model: string) => void;
  readonly post: Post;
}

/** Shows the steps of a test with advice, and lets the user choose if there are several models. */
function Outcome({ outcome, named, choose, post }: OutcomeProps) {
  const asks = !outcome.ok && outcome.models.length > 0;
  const isQuestion = (step: StepRow) => asks && !named && step.name === "models";
  const steps = outcome.steps.filter((step) => !(isQuestion(step) && step.state === "fail"));
  return (
    <section class="card first-run-outcome" aria-label={t("How the test went")}>
      <ul aria-live="polite">
        {steps.map((step) => (
          <li key={`${step.name}${step.sentence}`} class={`step ${step.state}`}>
            <Icon name={ICONS[step.state]} />
            <span>
              <span class="sr-only">{WORDS[step.state]}: </span>
              {sentenceCase(step.sentence)}
              {step.fix !== "" && <span class="step-fix">{sentenceCase(step.fix)}</span>}
            </span>
          </li>
        ))}
      </ul>
      {outcome.message !== "" && (named || !asks) && <p>{outcome.message}</p>}
      {outcome.notes.map((note) => (
        <p key={note} class="muted">
          {note}
        </p>
      ))}
      {asks && <ModelChoice models={outcome.models} choose={choose} />}
      {outcome.ok && (
        <button
          type="button"
          class="button"
          onClick={() => post({ type: "firstRun", step: "cancel" })}
        >
          {t("Go on with {0}", outcome.model)}
        </button>
      )}
    </section>
  );
}

/** A list to choose from; typing the first letters finds one of hundreds of models. */
function ModelChoice({
  models,
  choose,
}: {
  readonly models: readonly string[];
  readonly choose: OutcomeProps["choose"];
}) {
  const [model, setModel] = useState(models[0] ?? "");
  const use = useRef<HTMLButtonElement>(null);
  useEffect(() => use.current?.focus(), []);
  return (
    <form
      class="row"
      onSubmit={(event) => {
        event.preventDefault();
        if (model !== "") choose(model);
      }}
    >
      <select
        class="field"
        aria-label={t("Model")}
        value={model}
        onChange={(event) => setModel(event.currentTarget.value)}
      >
        {models.map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
      <button ref={use} type="submit" class="button">
        {t("Use")}
      </button>
    </form>
  );
}

const ICONS: Readonly<Record<StepRow["state"], string>> = {
  ok: "pass",
  warn: "warning",
  fail: "error",
  skipped: "circle-slash",
};

const WORDS: Readonly<Record<StepRow["state"], string>> = {
  ok: t("Works"),
  warn: t("Note"),
  fail: t("Fails"),
  skipped: t("Not tried"),
};

/** The name by which the server knows the editor. */
const EDITOR = "vscode";

interface EditorModelsProps {
  readonly models: readonly string[];
  readonly busy: boolean;
  readonly login: (wish: Tried) => void;
}

/** Offers the editor's own models, such as Copilot's, which need no address and no key. */
function EditorModels({ models, busy, login }: EditorModelsProps) {
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

interface KeyFormProps {
  readonly rows: readonly KnownRow[];
  readonly busy: boolean;
  readonly login: (wish: Tried) => void;
  readonly post: Post;
  /** Whether this form is the only choice; then the field of the key has the focus. */
  readonly alone: boolean;
}

const OWN = "own"; // No provider of the catalogue has this name.

/** A form for a known provider, or for another address, with a key. */
function KeyForm({ rows, busy, login, post, alone }: KeyFormProps) {
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

interface LocalServersProps {
  readonly rows: readonly LocalRow[];
  readonly busy: boolean;
  readonly login: (wish: Tried) => void;
  readonly refresh: () => void;
}

/** Lists model servers that run on this machine, each with its models. */
function LocalServers({ rows, busy, login, refresh }: LocalServersProps) {
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

function Local({
  row,
  busy,
  login,
}: { readonly row: LocalRow } & Pick<LocalServersProps, "busy" | "login">) {
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

/** The target of the last test; only the host has the key that was used. */
interface Tried {
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
