/**
 * Shows a call's changes of one file: a small diff in the colours of the user's diff editor, with
 * buttons to accept or reject each pending change.
 */
import { useMemo } from "preact/hooks";
import type { ChangeRow } from "../../protocol.ts";
import { number, plural, t } from "../../shared/l10n.ts";
import type { EditShown } from "../../shared/state/state.ts";
import type { Span } from "../../shared/word-diff.ts";
import { Icon } from "../elements.tsx";
import type { Post } from "../host/channel.ts";
import { runs } from "../markdown/invisible.ts";
import {
  type DiffGroup,
  type DiffLine,
  MOST_CHARACTERS,
  type ReadDiff,
  readChange,
  readDiff,
  withoutReturn,
  wordMarks,
} from "./unified-diff.ts";

/** A diff to draw, with the pending change of each group, by the group's index. */
interface JudgedDiff {
  readonly diff: ReadDiff;
  readonly verdicts: ReadonlyMap<number, string>;
}

/**
 * The maximum number of changes in one card that have their own buttons. If there are more, one
 * pair of buttons is for all changes, and the review shows each change.
 */
const MOST_ROWS = 50;

/**
 * Returns the edit's own diff with the pending change of each group. If later edits have moved
 * lines, so that a change is not found in the diff, the pending changes themselves are returned as
 * the diff.
 */
export function matchPending(diff: string, rows: readonly ChangeRow[]): readonly JudgedDiff[] {
  const read = readDiff(diff);
  const verdicts = new Map<number, string>();
  if (rows.length > MOST_ROWS) return [{ diff: read, verdicts }];
  for (const row of rows) {
    const index = read.groups.findIndex((group, at) => !verdicts.has(at) && isSame(group, row));
    if (index < 0) return rows.map(alone);
    verdicts.set(index, row.id);
  }
  return [{ diff: read, verdicts }];
}

function alone(row: ChangeRow): JudgedDiff {
  const diff = readChange(row.old, row.new, row.range.start.line + 1);
  const notes = row.note === "" ? diff.notes : [row.note, ...diff.notes];
  const last = diff.groups.length === 0 ? -1 : diff.groups.length - 1;
  return { diff: { ...diff, notes }, verdicts: new Map([[last, row.id]]) };
}

function isSame(group: DiffGroup, row: ChangeRow): boolean {
  if (!group.changed) return false;
  const side = (kind: "added" | "removed") =>
    group.lines
      .filter((line) => line.kind === kind)
      .map((line) => `${line.text}\n`)
      .join("");
  const ended = (text: string) => (text === "" || text.endsWith("\n") ? text : `${text}\n`);
  return side("removed") === ended(row.old) && side("added") === ended(row.new);
}

interface DiffViewProps {
  readonly diff: ReadDiff;
  readonly verdicts: ReadonlyMap<number, string>;
  readonly path: string;
  readonly post: Post;
}

/**
 * Draws a small diff in the colours of the user's diff editor; signs and texts give the same
 * information.
 */
function DiffView({ diff, verdicts, path, post }: DiffViewProps) {
  const alone = verdicts.get(-1);
  return (
    <div class="diff" style={{ "--diff-digits": digits(diff) }}>
      {diff.notes.map((note) => (
        <p key={note} class="diff-note">
          <Icon name="info" />
          <span>{note}</span>
        </p>
      ))}
      {diff.groups.length > 0 && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard
        // biome-ignore lint/a11y/useSemanticElements: a region that scrolls
        <div class="diff-lines" tabIndex={0} role="region" aria-label={t("Diff of {0}", path)}>
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
      {alone !== undefined && <Verdict id={alone} words={t("this change")} post={post} />}
      {diff.cutLines > 0 && (
        <p class="diff-note">
          <Icon name="ellipsis" />
          <span>{cutWords(diff)}</span>
        </p>
      )}
    </div>
  );
}

/** Returns the width of the column of line numbers, in digits. */
function digits({ groups }: ReadDiff): string {
  const numbers = groups.flatMap((group) => group.lines.map((line) => line.number));
  return String(String(Math.max(0, ...numbers)).length);
}

function cutWords(diff: ReadDiff): string {
  const { cutLines, cutHunks } = diff;
  if (cutHunks === 0)
    return plural(
      cutLines,
      "{0} more line not shown here: open the diff",
      "{0} more lines not shown here: open the diff",
    );
  return plural(
    cutLines,
    "{0} more line in {1} not shown here: open the diff",
    "{0} more lines in {1} not shown here: open the diff",
    plural(cutHunks, "{0} more hunk", "{0} more hunks"),
  );
}

interface GroupProps {
  readonly group: DiffGroup;
  readonly id: string | undefined;
  readonly post: Post;
}

function Group({ group, id, post }: GroupProps) {
  const marks = useMemo(() => wordMarks(group), [group]);
  return (
    <>
      {group.gap && <div class="diff-gap" />}
      <div class={group.changed ? "diff-group changed" : "diff-group"}>
        {id !== undefined && (
          <Verdict id={id} words={t("the change at line {0}", group.line)} post={post} />
        )}
        {group.lines.map((line, index) => (
          <Line key={index} line={line} marks={marks.get(index) ?? []} />
        ))}
      </div>
    </>
  );
}

const SIGNS = { same: " ", added: "+", removed: "-" } as const;

interface LineProps {
  readonly line: DiffLine;
  readonly marks: readonly Span[];
}

function Line({ line, marks }: LineProps) {
  const whole = withoutReturn(line.text);
  const isLong = whole.length > MOST_CHARACTERS;
  const trailing = line.kind === "same" ? "" : (/[ \t]+$/.exec(whole)?.[0] ?? "");
  const text = isLong
    ? whole.slice(0, MOST_CHARACTERS)
    : whole.slice(0, whole.length - trailing.length);
  return (
    <div class={`diff-line ${line.kind}`}>
      <span class="diff-number" aria-hidden="true">
        {line.number > 0 ? line.number : ""}
      </span>
      <span class="diff-sign">{SIGNS[line.kind]}</span>
      <span class="diff-text">
        {pieces(text, marks).map((piece, index) =>
          piece.marked ? (
            <span key={index} class="diff-word">
              <Runs text={piece.text} />
            </span>
          ) : (
            <Runs key={index} text={piece.text} />
          ),
        )}
        {!isLong && trailing !== "" && <span class="diff-blanks">{trailing}</span>}
        {isLong && (
          <span class="muted"> {t("… {0} more", number(whole.length - MOST_CHARACTERS))}</span>
        )}
      </span>
    </div>
  );
}

/** Splits a line at the edges of its highlights. */
function pieces(
  text: string,
  marks: readonly Span[],
): readonly { readonly text: string; readonly marked: boolean }[] {
  let at = 0;
  const found = marks.flatMap(({ from, to }) => {
    const before = { text: text.slice(at, from), marked: false };
    at = to;
    return [before, { text: text.slice(from, to), marked: true }];
  });
  return [...found, { text: text.slice(at), marked: false }].filter((piece) => piece.text !== "");
}

function Runs({ text }: { readonly text: string }) {
  return (
    <>
      {runs(text, "name").map((run, index) =>
        run.hidden ? (
          <span key={index} class="md-hidden" title={t("hidden character")}>
            {run.text}
          </span>
        ) : (
          run.text
        ),
      )}
    </>
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
      <div class="verdict" role="group" aria-label={t("Verdict on {0}", words)}>
        <button
          type="button"
          class="icon-button"
          title={t("Accept")}
          aria-label={t("Accept {0}", words)}
          onClick={() => post({ type: "verdict", verdict: "accept", hunks: [id] })}
        >
          <Icon name="check" />
        </button>
        <button
          type="button"
          class="icon-button"
          title={t("Reject")}
          aria-label={t("Reject {0}", words)}
          onClick={() => post({ type: "verdict", verdict: "reject", hunks: [id] })}
        >
          <Icon name="close" />
        </button>
      </div>
    </div>
  );
}

interface EditCardProps {
  readonly edit: EditShown;
  readonly isAlone: boolean;
  readonly turn: number;
  readonly rows: readonly ChangeRow[];
  readonly post: Post;
}

export function EditCard({ edit, isAlone, turn, rows, post }: EditCardProps) {
  const shown = useMemo(() => matchPending(edit.diff, rows), [edit.diff, rows]);
  return (
    <div class="edit">
      {!isAlone && (
        <div class="edit-head">
          <span class="edit-path">{edit.path}</span>
          <span class="figure">
            <span class="added">+{edit.added}</span> <span class="removed">−{edit.removed}</span>
          </span>
        </div>
      )}
      {shown.map(({ diff, verdicts }, index) => (
        <DiffView key={index} diff={diff} verdicts={verdicts} path={edit.path} post={post} />
      ))}
      <div class="edit-foot">
        <button
          type="button"
          class="link-button"
          onClick={() => post({ type: "openDiff", path: edit.path, turn })}
        >
          {t("Open diff")}
        </button>
        <button
          type="button"
          class="link-button"
          onClick={() => post({ type: "openFile", target: edit.path })}
        >
          {t("Open file")}
        </button>
        {rows.length > 1 && <All rows={rows} post={post} />}
      </div>
    </div>
  );
}

function All({ rows, post }: { readonly rows: readonly ChangeRow[]; readonly post: Post }) {
  const hunks = rows.map((row) => row.id);
  return (
    <span class="edit-all">
      <button
        type="button"
        class="icon-button"
        title={t("Accept all {0} changes", number(hunks.length))}
        aria-label={t("Accept all {0} changes", number(hunks.length))}
        onClick={() => post({ type: "verdict", verdict: "accept", hunks })}
      >
        <Icon name="check-all" />
      </button>
      <button
        type="button"
        class="icon-button"
        title={t("Reject all {0} changes", number(hunks.length))}
        aria-label={t("Reject all {0} changes", number(hunks.length))}
        onClick={() => post({ type: "verdict", verdict: "reject", hunks })}
      >
        <Icon name="close-all" />
      </button>
    </span>
  );
}
