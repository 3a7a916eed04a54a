/** What stands around the text of a permission: where it would run, why it is asked, what the model says. */
import { useMemo } from "preact/hooks";
import type { PermissionParams } from "../../protocol.ts";
import { visible, visibleText, warnings } from "../../shared/visible.ts";
import { Icon } from "../icon.tsx";
import { diffWords } from "./diff-words.ts";
import { type RiskyPart, riskyParts } from "./risky-parts.ts";

/** What the sub-agent is to do that wants it, in the words of the one that began it; the title names it. */
export function AskedBy({ agent }: { readonly agent: string }) {
  if (agent === "") return null;
  return (
    <p class="asked-agent">
      <Icon name="robot" />
      <span>
        <span class="muted">Its task:</span> {visible(agent.replace(/^[^:]*: /, ""))}
      </span>
    </p>
  );
}

/** Oddities of the text, in words: shown above it. */
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

/** The parts of a command that are the reason, with why; what the text and the sentence above it say already is left out. */
export function Because({ asked }: { readonly asked: PermissionParams }) {
  const parts = useMemo(() => leftToSay(asked), [asked]);
  if (parts.length === 0) return null;
  return (
    <ul class="asked-because" aria-label="Because of">
      {parts.map((one) => (
        <li key={one.part}>
          <code>{visible(one.part)}</code>
          {one.reason !== "" && <span class="muted"> {visible(one.reason)}</span>}
        </li>
      ))}
    </ul>
  );
}

/** `in ~/shop · sandboxed, no network`. */
export function Place({ asked }: { readonly asked: PermissionParams }) {
  if (asked.cwd === "" && asked.sandbox === "") return null;
  const isUnheld = /not sandboxed|outside the sandbox/.test(`${asked.sandbox} ${asked.more}`);
  return (
    <p class="asked-place">
      {asked.cwd !== "" && (
        <span>
          in <code>{visible(asked.cwd)}</code>
        </span>
      )}
      {asked.sandbox !== "" && (
        <span class={isUnheld ? "asked-unheld" : ""}>
          <Icon name={isUnheld ? "warning" : "shield"} />{" "}
          {isUnheld ? "not sandboxed" : visible(held(asked))}
        </span>
      )}
    </p>
  );
}

/** What a yes allows beyond the sandbox; where the model itself asks for it, with its words as its words. */
export function Beyond({ asked }: { readonly asked: PermissionParams }) {
  const isSaid = asked.more === "outside the sandbox" && asked.sandbox !== ""; // by the line above
  const more = isSaid && !asked.wanted ? "" : asked.more;
  if (more === "" && asked.why === "") return null;
  const span = asked.rule === "" ? ", for this one call" : "";
  return (
    <div class={asked.wanted ? "asked-beyond wanted" : "asked-beyond"}>
      {more !== "" && (
        <p>
          <Icon name={asked.wanted ? "warning" : "unlock"} />{" "}
          {isSaid ? (
            `The model itself requests this${span}`
          ) : (
            <>
              {asked.wanted ? "The model requests more access" : `A yes allows${span}`}:{" "}
              <strong>{visible(more)}</strong>
              {asked.wanted && span}
            </>
          )}
        </p>
      )}
      {asked.why !== "" && (
        <figure class="asked-said">
          <figcaption class="muted">The model’s own words for it:</figcaption>
          <blockquote>{visible(asked.why)}</blockquote>
        </figure>
      )}
    </div>
  );
}

/** How commands are held, without what the question says of this one: that stands in a line of its own. */
function held(asked: PermissionParams): string {
  const own = `; this one: ${asked.more}`;
  return asked.more !== "" && asked.sandbox.endsWith(own)
    ? asked.sandbox.slice(0, -own.length)
    : asked.sandbox;
}

/** A part that is marked in the text, and whose reason is the question's, need not be said again. */
function leftToSay(asked: PermissionParams): readonly RiskyPart[] {
  return riskyParts(asked.detail, asked.risky).flatMap((part) => {
    if (part.reason === "" || !asked.reason.includes(part.reason)) return [part];
    return part.from >= 0 ? [] : [{ ...part, reason: "" }];
  });
}
