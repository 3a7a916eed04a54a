/** A small diff. Colours are those of the user's diff editor; signs and words say the same without them. */

import { countFigure } from "../../shared/figures.ts";
import { Icon } from "../icon.tsx";
import { runs } from "../markdown/invisible.ts";
import type { Post } from "../view-props.ts";
import {
  type DiffGroup,
  type DiffLine,
  MOST_CHARACTERS,
  type ReadDiff,
  withoutReturn,
} from "./unified-diff.ts";

interface Props {
  readonly diff: ReadDiff;
  readonly verdicts: ReadonlyMap<number, string>;
  readonly path: string;
  readonly post: Post;
}

export function DiffView({ diff, verdicts, path, post }: Props) {
  const alone = verdicts.get(-1);
  return (
    <div class="diff">
      {diff.notes.map((note) => (
        <p key={note} class="diff-note">
          <Icon name="info" />
          <span>{note}</span>
        </p>
      ))}
      {diff.groups.length > 0 && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard
        // biome-ignore lint/a11y/useSemanticElements: a region that scrolls
        <div class="diff-lines" tabIndex={0} role="region" aria-label={`Diff of ${path}`}>
          {diff.groups.map((group, index) => (
            <Group
              key={`${group.line}/${String(index)}`}
              group={group}
              id={verdicts.get(index)}
              post={post}
            />
          ))}
        </div>
      )}
      {alone !== undefined && <Verdict id={alone} words="this change" post={post} />}
      {diff.cutLines > 0 && (
        <p class="diff-note">
          <Icon name="ellipsis" />
          <span>{cutWords(diff)}</span>
        </p>
      )}
    </div>
  );
}

function cutWords(diff: ReadDiff): string {
  const hunks = diff.cutHunks === 0 ? "" : ` in ${countFigure(diff.cutHunks, "more hunk")}`;
  return `${countFigure(diff.cutLines, "more line")}${hunks} not shown here: open the diff`;
}

interface GroupProps {
  readonly group: DiffGroup;
  readonly id: string | undefined;
  readonly post: Post;
}

function Group({ group, id, post }: GroupProps) {
  return (
    <>
      {group.gap && <div class="diff-gap" />}
      <div class={group.changed ? "diff-group changed" : "diff-group"}>
        {id !== undefined && (
          <Verdict id={id} words={`the change at line ${group.line}`} post={post} />
        )}
        {group.lines.map((line, index) => (
          <Line key={index} line={line} />
        ))}
      </div>
    </>
  );
}

const SIGNS = { same: " ", added: "+", removed: "-" } as const;

function Line({ line }: { readonly line: DiffLine }) {
  const whole = withoutReturn(line.text);
  const isLong = whole.length > MOST_CHARACTERS;
  const trailing = line.kind === "same" ? "" : (/[ \t]+$/.exec(whole)?.[0] ?? "");
  const text = isLong
    ? whole.slice(0, MOST_CHARACTERS)
    : whole.slice(0, whole.length - trailing.length);
  return (
    <div class={`diff-line ${line.kind}`}>
      <span class="diff-sign">{SIGNS[line.kind]}</span>
      <span class="diff-text">
        {runs(text, "name").map((run, index) =>
          run.hidden ? (
            <span key={index} class="md-hidden" title="hidden character">
              {run.text}
            </span>
          ) : (
            run.text
          ),
        )}
        {!isLong && trailing !== "" && <span class="diff-blanks">{trailing}</span>}
        {isLong && (
          <span class="muted"> … {(whole.length - MOST_CHARACTERS).toLocaleString("en")} more</span>
        )}
      </span>
    </div>
  );
}

interface VerdictProps {
  readonly id: string;
  readonly words: string;
  readonly post: Post;
}

function Verdict({ id, words, post }: VerdictProps) {
  return (
    <div class="verdict-line">
      {/* biome-ignore lint/a11y/useSemanticElements: two buttons that belong together */}
      <div class="verdict" role="group" aria-label={`Verdict on ${words}`}>
        <button
          type="button"
          class="icon-button"
          title="Accept"
          aria-label={`Accept ${words}`}
          onClick={() => post({ type: "verdict", verdict: "accept", hunks: [id] })}
        >
          <Icon name="check" />
        </button>
        <button
          type="button"
          class="icon-button"
          title="Reject"
          aria-label={`Reject ${words}`}
          onClick={() => post({ type: "verdict", verdict: "reject", hunks: [id] })}
        >
          <Icon name="close" />
        </button>
      </div>
    </div>
  );
}
