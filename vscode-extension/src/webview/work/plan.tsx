/**
 * Shows a plan: below its turn, with the buttons for a decision, and then as one line while it is
 * carried out or revised. A plan is drawn as source if Markdown would hide a part of it.
 */
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { PlanResult } from "../../protocol.ts";
import { t } from "../../shared/l10n.ts";
import { runningTurn } from "../../shared/state/selectors.ts";
import type { PanelState } from "../../shared/state/state.ts";
import { Icon, usePressOnce } from "../elements.tsx";
import type { Channel, Post, ViewProps } from "../host/channel.ts";
import type { KeptWords } from "../host/kept-words.ts";
import { Markdown } from "../markdown/markdown.tsx";

/**
 * Returns false only if all letters of `source` are in `drawn`, in order. Markdown hides titles of
 * links, text after a fence's language, cells beyond a table's last column, and possibly more.
 */
function hidesWords(source: string, drawn: string): boolean {
  const there = lettersOf(drawn);
  let at = 0;
  for (const letter of lettersOf(source)) {
    const found = there.indexOf(letter, at);
    if (found < 0) return true;
    at = found + 1;
  }
  return false;
}

function lettersOf(text: string): string {
  return text.toLowerCase().replace(/[^\p{L}]+/gu, "");
}

/** Draws a plan for approval: as Markdown, or as source if Markdown would hide a part of it. */
function PlanText({ text, post }: { readonly text: string; readonly post: Post }) {
  const element = useRef<HTMLDivElement>(null);
  // The text of the plan that is shown as source; any other plan is first drawn as Markdown.
  const [plainFor, setPlainFor] = useState<string | null>(null);
  const isPlain = plainFor === text;
  useLayoutEffect(() => {
    if (isPlain || element.current === null) return;
    if (hidesWords(text, drawnWords(element.current))) setPlainFor(text);
  }, [text, isPlain]);
  if (isPlain) return <pre class="output plan-plain">{text}</pre>;
  return (
    <div ref={element}>
      <Markdown text={text} final post={post} />
    </div>
  );
}

/**
 * Matches the name of a code block's language, which cannot hide a message; a longer word might.
 */
const LANGUAGE = /^[a-z+#]{1,12}$/;

/**
 * Returns the visible text; each link is followed by its target, because the link's tooltip shows
 * the target.
 */
function drawnWords(node: Node): string {
  if (node instanceof Text) return node.data;
  const inside = [...node.childNodes].map(drawnWords).join("");
  if (node instanceof HTMLAnchorElement) return `${inside} ${node.title}`;
  const language = node instanceof HTMLElement ? (node.dataset["language"] ?? "") : "";
  return LANGUAGE.test(language) ? `${language} ${inside}` : inside;
}

interface RejectFormProps {
  readonly kept: KeptWords;
  /** The key of the text that was typed before. */
  readonly draft: string;
  readonly waits: boolean;
  /** Called with the comment, or with null if the user wrote no comment. */
  readonly reject: (words: string | null) => void;
  readonly close: () => void;
}

/** A form for an optional comment on a rejected plan. */
function RejectForm({ kept, draft, waits, reject, close }: RejectFormProps) {
  const field = useRef<HTMLInputElement>(null);
  const [text, setText] = useState(kept.draft(draft) ?? "");
  useLayoutEffect(() => field.current?.focus(), []);
  const back = () => {
    kept.keepDraft(draft, null);
    close();
  };
  return (
    <form
      class="plan-reject"
      onSubmit={(event) => {
        event.preventDefault();
        reject(text.trim() === "" ? null : text);
      }}
      onKeyDown={(event) => {
        if (event.key !== "Escape" || event.isComposing) return;
        event.stopPropagation();
        back();
      }}
    >
      <input
        ref={field}
        class="field"
        type="text"
        value={text}
        aria-label={t("What should be different")}
        placeholder={t("What should be different? (optional)")}
        onInput={(event) => {
          setText(event.currentTarget.value);
          kept.keepDraft(draft, event.currentTarget.value);
        }}
      />
      <div class="button-row">
        <button type="submit" class="button" aria-disabled={waits}>
          {t("Reject")}
        </button>
        <button type="button" class="button secondary" onClick={back}>
          {t("Back")}
        </button>
      </div>
    </form>
  );
}

interface PlanCardProps {
  readonly plan: PlanResult;
  readonly post: Post;
  readonly channel: Channel;
}

/** Shows a proposed plan below its turn, with the buttons for a decision. */
export function PlanCard({ plan, post, channel }: PlanCardProps) {
  const [isRejecting, setRejecting] = useState(channel.kept.draft(REJECTION) !== null);
  const once = usePressOnce(plan);
  const say = (action: "approve" | "reject", words: string | null) =>
    once.press(() => {
      channel.kept.keepDraft(REJECTION, null);
      post({ type: "plan", action, text: action === "approve" ? plan.text : null, words });
    });
  return (
    // biome-ignore lint/a11y/useSemanticElements: buttons that belong to one question
    <div class="plan card" role="group" aria-label={t("Plan")}>
      <PlanText text={plan.text} post={post} />
      {isRejecting ? (
        <RejectForm
          kept={channel.kept}
          draft={REJECTION}
          waits={once.pressed}
          reject={(words) => say("reject", words)}
          close={() => setRejecting(false)}
        />
      ) : (
        <div class="button-row">
          <button
            type="button"
            class="button"
            aria-disabled={once.pressed}
            title={t("Carry the plan out, in the earlier mode")}
            onClick={() => say("approve", null)}
          >
            {t("Approve")}
          </button>
          <button
            type="button"
            class="button secondary"
            title={t("Open the plan as a document. Its text is what you approve")}
            onClick={() => post({ type: "plan", action: "open", text: null, words: null })}
          >
            {t("Edit")}
          </button>
          <button
            type="button"
            class="button secondary"
            aria-disabled={once.pressed}
            title={t("Say what should be different")}
            onClick={() => setRejecting(true)}
          >
            {t("Reject…")}
          </button>
        </div>
      )}
    </div>
  );
}

/** The key of the text that is being typed. */
const REJECTION = "plan rejection";

/** Shows the plan while it is carried out or revised: one line that opens to the plan's text. */
export function PlanLine({ state, post }: ViewProps) {
  const [open, setOpen] = useState(false);
  const words = planWords(state);
  if (state.plan === null || words === "") return null;
  return (
    <section class="todo" aria-label={t("Plan")}>
      <button type="button" class="todo-toggle" aria-expanded={open} onClick={() => setOpen(!open)}>
        <Icon name={open ? "chevron-down" : "chevron-right"} />
        <Icon name="list-ordered" />
        <span>{words}</span>
      </button>
      {open && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard
        <section class="plan-text" tabIndex={0} aria-label={t("Text of the plan")}>
          <Markdown text={state.plan.text} final post={post} />
        </section>
      )}
    </section>
  );
}

/**
 * Returns the line's text, or an empty text if the conversation shows the plan or the plan is
 * finished.
 */
function planWords(state: PanelState): string {
  if (state.plan?.state === "approved") return t("Plan approved");
  const isHidden = state.plan?.state === "proposed" && runningTurn(state) !== undefined;
  return isHidden ? t("Plan not approved yet") : "";
}
