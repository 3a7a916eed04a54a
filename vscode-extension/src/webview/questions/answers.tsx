/**
 * The answers to a permission question: which answers it offers and why an answer is blocked, their
 * buttons, and the second step of Always. No comes first.
 */
import type { RefObject } from "preact";
import { useEffect } from "preact/hooks";
import type { PermissionParams } from "../../protocol.ts";
import { t } from "../../shared/l10n.ts";
import { visibleText } from "../../shared/visible.ts";
import { marked, Pieces } from "./asked-text.tsx";

/**
 * Says that a key or a click came too early. The element is always present, so that a screen reader
 * announces its next text.
 */
export function Early({ words }: { readonly words: string }) {
  return (
    <p class="answers-early" role="status">
      {words}
    </p>
  );
}

export type Yes = "once" | "session" | "always";

/**
 * One answer; `blocked` says why the answer cannot be given now, and is empty if the answer can be
 * given.
 */
export interface Offer {
  readonly answer: "no" | Yes;
  readonly label: string;
  /** The key for the answer while the card has the focus. */
  readonly key: string;
  readonly blocked: string;
}

/** The conditions for a yes. */
interface Readiness {
  /** Whether the end of the text was on the screen. */
  readonly seen: boolean;
  /**
   * Whether the lines below the text (folder, sandbox, additional access) were on the screen, too.
   */
  readonly factsSeen: boolean;
  /** The names of the ticked hunks, or null if the question has no hunks. */
  readonly chosen: readonly string[] | null;
}

/**
 * Returns the answers in the order of their buttons. "No" is the first answer; if no rule would be
 * stored, only "No" and "Once" are offered.
 */
export function offers(asked: PermissionParams, ready: Readiness): readonly Offer[] {
  const unseen = ready.seen
    ? ready.factsSeen
      ? ""
      : t("Scroll to the end of the question first")
    : t("Look at all of the text first");
  const none = ready.chosen !== null && ready.chosen.length === 0 ? t("No part is chosen") : "";
  const part =
    ready.chosen !== null && ready.chosen.length < asked.hunks.length
      ? t("A part of an edit is allowed for once only")
      : "";
  const once: readonly Offer[] = [
    { answer: "no", label: t("No"), key: "N", blocked: "" },
    { answer: "once", label: t("Once"), key: "O", blocked: unseen || none },
  ];
  if (asked.rule === "") return once;
  return [
    ...once,
    { answer: "session", label: t("This session"), key: "S", blocked: unseen || none || part },
    { answer: "always", label: t("Always…"), key: "A", blocked: unseen || none || part },
  ];
}

/** Returns the hunks to which an answer applies, or null if the answer applies to all hunks. */
export function hunksSent(
  asked: PermissionParams,
  chosen: readonly string[] | null,
  answer: "no" | Yes,
): readonly string[] | null {
  if (answer === "no" || chosen === null || chosen.length === asked.hunks.length) return null;
  return asked.hunks.map((hunk) => hunk.id).filter((id) => chosen.includes(id));
}

interface AnswerRowProps {
  readonly offers: readonly Offer[];
  readonly armed: boolean;
  /** The message about an early answer; see `Early`. */
  readonly early: string;
  readonly sent: boolean;
  readonly no: RefObject<HTMLButtonElement | null>;
  readonly give: (offer: Offer) => void;
}

/**
 * The buttons of a permission question: No comes first; Always shows the rule that would be stored,
 * and asks once more.
 */
export function AnswerRow({ offers, armed, early, sent, no, give }: AnswerRowProps) {
  const blocked = offers.find((offer) => offer.blocked !== "")?.blocked ?? "";
  const keys = offers.map((offer) => offer.key).join(", ");
  return (
    <div class={armed && !sent ? "answers" : "answers waiting"}>
      {offers.map((offer) => (
        <button
          key={offer.answer}
          ref={offer.answer === "no" ? no : null}
          type="button"
          class={offer.answer === "no" ? "button" : "button secondary"}
          aria-disabled={offer.blocked !== "" || sent}
          aria-keyshortcuts={offer.key}
          title={offer.blocked === "" ? `${offer.label} (${offer.key})` : offer.blocked}
          onClick={() => give(offer)}
        >
          {offer.label}
        </button>
      ))}
      {blocked !== "" && <span class="muted answers-why">{blocked}</span>}
      <div class="muted answers-hint">
        <span class="hint-outside">{t("Shift+Tab leads here; then {0}", keys)}</span>
        <span class="hint-inside">
          {armed || sent ? t("Keys: {0}", keys) : t("Ready for keys in a moment")}
        </span>
        <Early words={sent ? "" : early} />
      </div>
    </div>
  );
}

interface AlwaysStepProps {
  readonly rule: string;
  readonly armed: boolean;
  /** The message about an early answer; see `Early`. */
  readonly early: string;
  readonly back: RefObject<HTMLButtonElement | null>;
  readonly cancel: () => void;
  readonly confirm: () => void;
}

/** The second step of the answer Always: shows exactly what would be stored, and asks again. */
export function AlwaysStep({ rule, armed, early, back, cancel, confirm }: AlwaysStepProps) {
  useEffect(() => back.current?.focus(), []);
  return (
    <section class="always" aria-label={t("Always allow this")}>
      <p>
        {t(
          "Always allow exactly this in this workspace, without a question? It ends when a file that it runs changes, or when you take it back.",
        )}
      </p>
      <code class="asked-text always-rule">
        <Pieces pieces={marked(visibleText(rule, "command"), [])} />
      </code>
      <div class={armed ? "answers" : "answers waiting"}>
        <button ref={back} type="button" class="button" title={t("Back (Escape)")} onClick={cancel}>
          {t("Back")}
        </button>
        <button
          type="button"
          class="button secondary"
          aria-keyshortcuts="A"
          title={t("Always allow (A)")}
          onClick={confirm}
        >
          {t("Always allow")}
        </button>
        <Early words={early} />
      </div>
    </section>
  );
}
