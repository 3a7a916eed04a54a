/**
 * Draws what a permission question says besides its text: where the command would run, why Indwell
 * asks, and the model's reason.
 */

import { useMemo } from "preact/hooks";
import type { PermissionParams } from "../../protocol.ts";
import { t } from "../../shared/l10n.ts";
import { visible, visibleText, warnings } from "../../shared/visible.ts";
import { Icon } from "../icon.tsx";
import { diffWords } from "./diff-words.ts";
import { type RiskyPart, riskyParts } from "./risky-parts.ts";

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
        <span class="muted">{t("Its task:")}</span> {visible(agent.replace(/^[^:]*: /, ""))}
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
          <blockquote>{visible(asked.why)}</blockquote>
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
