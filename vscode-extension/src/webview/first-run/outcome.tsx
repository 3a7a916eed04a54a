/** Shows the steps of a test with advice, and lets the user choose if there are several models. */

import { useEffect, useRef, useState } from "preact/hooks";
import type { LoginResult, StepRow } from "../../protocol.ts";
import { t } from "../../shared/l10n.ts";
import { Icon } from "../icon.tsx";
import { sentenceCase } from "../questions/sentence.tsx";
import type { Post } from "../view-props.ts";

interface Props {
  readonly outcome: LoginResult;
  /**
   * Whether the user named a model. If not, a missing model is no failure, because the list below
   * asks for a model.
   */
  readonly named: boolean;
  readonly choose: (model: string) => void;
  readonly post: Post;
}

export function Outcome({ outcome, named, choose, post }: Props) {
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
  readonly choose: Props["choose"];
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
