/**
 * Draws the diff of an edit that needs permission; if there are several hunks, each hunk has a box
 * to tick.
 */

import { useMemo } from "preact/hooks";
import type { HunkShown, PermissionParams } from "../../protocol.ts";
import { plural, t } from "../../shared/l10n.ts";
import { visibleText } from "../../shared/visible.ts";
import { bounded, marked, Pieces } from "./asked-text.tsx";

interface Props {
  readonly asked: PermissionParams;
  /** The names of the ticked hunks, or null if the edit has only one hunk. */
  readonly chosen: readonly string[] | null;
  readonly choose: (chosen: readonly string[]) => void;
}

/** The maximum number of hunks that are drawn; the card says how many more there are. */
export const MOST_HUNKS = 200;

export function AskedDiff({ asked, chosen, choose }: Props) {
  if (chosen === null) return <DiffText text={asked.detail} />;
  const toggle = (id: string, on: boolean) =>
    choose(on ? [...chosen, id] : chosen.filter((one) => one !== id));
  const left = asked.hunks.length - MOST_HUNKS;
  return (
    <>
      {asked.hunks.slice(0, MOST_HUNKS).map((hunk, index) => (
        <Hunk
          key={hunk.id}
          hunk={hunk}
          label={t("Part {0} of {1}", index + 1, asked.hunks.length)}
          on={chosen.includes(hunk.id)}
          toggle={(on) => toggle(hunk.id, on)}
        />
      ))}
      {left > 0 && (
        <p class="asked-left">
          {plural(left, "{0} more part, not drawn here", "{0} more parts, not drawn here")}
        </p>
      )}
    </>
  );
}

function Hunk(props: {
  readonly hunk: HunkShown;
  readonly label: string;
  readonly on: boolean;
  readonly toggle: (on: boolean) => void;
}) {
  const { hunk, on, toggle } = props;
  return (
    <div class={on ? "asked-hunk" : "asked-hunk off"}>
      <label class="row asked-hunk-head">
        <input
          type="checkbox"
          checked={on}
          onChange={(event) => toggle(event.currentTarget.checked)}
        />
        <span>{props.label}</span>
        <code class="muted">{hunk.header}</code>
      </label>
      <DiffText text={withoutHeader(hunk)} />
    </div>
  );
}

/** Draws the lines of a unified diff; the middle of a huge diff is left out. */
function DiffText({ text }: { readonly text: string }) {
  const { head, left, tail } = useMemo(() => bounded(text), [text]);
  return (
    <code class="asked-diff">
      <Lines text={head} />
      {left > 0 && (
        <span class="asked-left">
          {plural(left, "[… {0} line, not drawn here …]", "[… {0} lines, not drawn here …]")}
        </span>
      )}
      {left > 0 && <Lines text={tail} />}
    </code>
  );
}

function Lines({ text }: { readonly text: string }) {
  const lines = useMemo(
    () => text.split("\n").map((line) => marked(visibleText(line, "prose"), [])),
    [text],
  );
  const source = text.split("\n");
  return (
    <>
      {lines.map((pieces, index) => (
        <span key={`${index + 1}`} class={`asked-row ${rowClass(source[index] ?? "")}`}>
          <Pieces pieces={pieces} />
          {"\n"}
        </span>
      ))}
    </>
  );
}

function rowClass(line: string): string {
  if (line.startsWith("+++ ") || line.startsWith("--- ") || line.startsWith("@@")) return "meta";
  if (line.startsWith("+")) return "added";
  return line.startsWith("-") ? "removed" : "";
}

function withoutHeader(hunk: HunkShown): string {
  return hunk.text.startsWith(`${hunk.header}\n`)
    ? hunk.text.slice(hunk.header.length + 1)
    : hunk.text;
}
