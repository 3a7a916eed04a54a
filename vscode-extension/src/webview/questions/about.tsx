/**
 * Draws what a permission question says besides its text: where the command would run, why Indwell
 * asks, the model's reason, and what a diff does not show to the eye.
 */
import { useMemo } from "preact/hooks";
import type { PermissionParams } from "../../protocol.ts";
import { plural, t } from "../../shared/l10n.ts";
import { visible, visibleText, warnings } from "../../shared/visible.ts";
import { Icon } from "../elements.tsx";
import { type RiskyPart, riskyParts } from "./asked-text.tsx";

const MOST_LINES = 50_000; // The maximum number of lines that are checked; the card calls a longer diff too long.
const LINE_END = /(?:\r|\\u000d)$/;
const INVISIBLE = /[\p{Cf}\p{Cc}\u00a0]|\\u[0-9a-f]{4}|\\U[0-9a-f]{8}/gu;

/** Returns sentences that are shown above a diff, or an empty list if all changes are visible. */
export function diffWords(diff: string): readonly string[] {
  const counts = { ends: 0, blanks: 0, invisible: 0 };
  const said = new Set<string>();
  let removed: string[] = [];
  let added: string[] = [];
  const settle = () => {
    for (const [index, before] of removed.entries()) {
      const after = added[index];
      if (after !== undefined) count(before, after, counts);
    }
    removed = [];
    added = [];
  };
  for (const line of diff.split("\n", MOST_LINES)) {
    if (/^(---|\+\+\+) /.test(line)) continue;
    if (line.startsWith("-")) {
      if (added.length > 0) settle();
      removed.push(line.slice(1));
    } else if (line.startsWith("+")) added.push(line.slice(1));
    else {
      if (!line.startsWith("\\")) settle();
      for (const sentence of inWords(line)) said.add(sentence);
    }
  }
  settle();
  return [...counted(counts), ...said];
}

function count(
  before: string,
  after: string,
  counts: { ends: number; blanks: number; invisible: number },
): void {
  if (before === after) return;
  if (before.replace(LINE_END, "") === after.replace(LINE_END, "")) counts.ends += 1;
  else if (bare(before) === bare(after)) counts.blanks += 1;
  else if (bare(before.replace(INVISIBLE, "")) === bare(after.replace(INVISIBLE, "")))
    counts.invisible += 1;
}

function bare(line: string): string {
  return line.replace(LINE_END, "").replace(/[ \t]+/g, "");
}

function counted(counts: { ends: number; blanks: number; invisible: number }): readonly string[] {
  const { ends, blanks, invisible } = counts;
  const said: string[] = [];
  if (ends > 0)
    said.push(
      plural(
        ends,
        "In {0} line only the line's end changes",
        "In {0} lines only the line's end changes",
      ),
    );
  if (blanks > 0)
    said.push(plural(blanks, "In {0} line only blanks change", "In {0} lines only blanks change"));
  if (invisible > 0)
    said.push(
      plural(
        invisible,
        "In {0} line only invisible characters change",
        "In {0} lines only invisible characters change",
      ),
    );
  return said;
}

function inWords(line: string): readonly string[] {
  if (line.startsWith("\\ No newline")) return [t("The end of the file's last line changes")];
  const mode = /^(old|new) mode (\d+)/.exec(line);
  if (mode !== null)
    return mode[1] === "old"
      ? [t("The mode was {0}", mode[2] ?? "")]
      : [t("The mode becomes {0}", mode[2] ?? "")];
  if (/^Binary files? /.test(line)) return [t("This is not text: its contents cannot be shown")];
  return [];
}

/**
 * Draws the task of the sub-agent that asks, in the main agent's text; the question's title names
 * the sub-agent.
 */
export function AskedBy({ agent }: { readonly agent: string }) {
  if (agent === "") return null;
  return (
    <p class="asked-agent">
      <Icon name="robot" />
      <span>
        <span class="muted">{t("Its task:")}</span>{" "}
        <bdi>{visible(agent.replace(/^[^:]*: /, ""))}</bdi>
      </span>
    </p>
  );
}

/** Draws sentences about oddities of the text, above the text. */
export function Badges({
  asked,
  isEdit,
}: {
  readonly asked: PermissionParams;
  readonly isEdit: boolean;
}) {
  const said = useMemo(() => {
    const odd = warnings(visibleText(asked.detail, isEdit ? "prose" : "command"));
    return isEdit ? [...odd, ...diffWords(asked.detail)] : odd;
  }, [asked, isEdit]);
  if (said.length === 0) return null;
  return (
    <p class="badge-warning">
      <Icon name="warning" /> <span>{said.join(" · ")}</span>
    </p>
  );
}

/**
 * Draws the parts of a command that are the reason for the question, each with its reason, unless
 * the text and the sentence above already say the same.
 */
export function Because({ asked }: { readonly asked: PermissionParams }) {
  const parts = useMemo(() => leftToSay(asked), [asked]);
  if (parts.length === 0) return null;
  return (
    <ul class="asked-because" aria-label={t("Because of")}>
      {parts.map((one) => (
        <li key={one.part}>
          <code>{visible(one.part)}</code>
          {one.reason !== "" && <span class="muted"> {visible(one.reason)}</span>}
        </li>
      ))}
    </ul>
  );
}

/**
 * Returns whether the server says that no sandbox confines the command. The server speaks the
 * language of the editor, or English if it is an older server.
 */
function saysNoSandbox(words: string): boolean {
  return [
    "not sandboxed",
    "outside the sandbox",
    t("not sandboxed"),
    t("outside the sandbox"),
  ].some((one) => words.includes(one));
}

/** Draws a line such as `in ~/shop · sandboxed, no network`. */
export function Place({ asked }: { readonly asked: PermissionParams }) {
  if (asked.cwd === "" && asked.sandbox === "") return null;
  const isUnheld = saysNoSandbox(`${asked.sandbox} ${asked.more}`);
  return (
    <p class="asked-place">
      {asked.cwd !== "" && (
        <span>
          {t("in")} <code>{visible(asked.cwd)}</code>
        </span>
      )}
      {asked.sandbox !== "" && (
        <span class={isUnheld ? "asked-unheld" : ""}>
          <Icon name={isUnheld ? "warning" : "shield"} />{" "}
          {isUnheld ? t("not sandboxed") : visible(held(asked))}
        </span>
      )}
    </p>
  );
}

/**
 * Draws the access beyond the sandbox that the user would allow; if the model itself asks for this
 * access, also the model's reason.
 */
export function Beyond({ asked }: { readonly asked: PermissionParams }) {
  // The line above says so.
  const isOutside = ["outside the sandbox", t("outside the sandbox")].includes(asked.more);
  const isSaid = isOutside && asked.sandbox !== "";
  const more = isSaid && !asked.wanted ? "" : asked.more;
  if (more === "" && asked.why === "") return null;
  const isOnce = asked.rule === "";
  return (
    <div class={asked.wanted ? "asked-beyond wanted" : "asked-beyond"}>
      {more !== "" && (
        <p>
          <Icon name={asked.wanted ? "warning" : "unlock"} />{" "}
          {isSaid ? (
            isOnce ? (
              t("The model itself requests this, for this one call")
            ) : (
              t("The model itself requests this")
            )
          ) : (
            <>
              {beyondWords(asked.wanted, isOnce)} <strong>{visible(more)}</strong>
            </>
          )}
        </p>
      )}
      {asked.why !== "" && (
        <figure class="asked-said">
          <figcaption class="muted">{t("The model’s own words for it:")}</figcaption>
          <blockquote dir="auto">{visible(asked.why)}</blockquote>
        </figure>
      )}
    </div>
  );
}

function beyondWords(isWanted: boolean, isOnce: boolean): string {
  if (isWanted)
    return isOnce
      ? t("The model requests more access, for this one call:")
      : t("The model requests more access:");
  return isOnce ? t("A yes allows, for this one call:") : t("A yes allows:");
}

/**
 * Returns how the sandbox confines commands, except for what a separate line of the question says
 * about this command.
 */
function held(asked: PermissionParams): string {
  const own = t("; this one: {0}", asked.more);
  return asked.more !== "" && asked.sandbox.endsWith(own)
    ? asked.sandbox.slice(0, -own.length)
    : asked.sandbox;
}

/**
 * Returns the parts that need a line of their own. A part needs none if it is marked in the text
 * and has the same reason as the question.
 */
function leftToSay(asked: PermissionParams): readonly RiskyPart[] {
  return riskyParts(asked.detail, asked.risky).flatMap((part) => {
    if (part.reason === "" || !asked.reason.includes(part.reason)) return [part];
    return part.from >= 0 ? [] : [{ ...part, reason: "" }];
  });
}
