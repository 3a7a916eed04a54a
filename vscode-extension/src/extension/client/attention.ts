/** Tracks the focus and selection that the server knows, and finds changes to send. Pure. */

/** A range as in the protocol: zero-based, characters in UTF-16 units. */
export interface PlainPosition {
  readonly line: number;
  readonly character: number;
}

export interface PlainRange {
  readonly start: PlainPosition;
  readonly end: PlainPosition;
}

/** The document and ranges that the user looks at; `ranges` may be empty ones (cursors). */
export interface Looked {
  readonly uri: string;
  readonly version: number;
  readonly ranges: readonly PlainRange[];
}

/** What the server knows about focus and selection; `undefined` if nothing has been sent. */
export interface Told {
  readonly focus: string | null | undefined;
  readonly selection: Looked | undefined;
}

/** The state of a new server process, which knows nothing. */
export const NOTHING_TOLD: Told = { focus: undefined, selection: undefined };

/** The changes to send, and the server's knowledge afterwards. */
export interface News {
  readonly focus: string | null | undefined;
  readonly selection: Looked | undefined;
  readonly told: Told;
}

/**
 * A selection with more parts than this is a column edit, of which only the largest part matters.
 */
export const MOST_RANGES = 100;

/**
 * Returns the parts of `looked` (null means no document) that changed; unchanged parts are
 * `undefined`.
 */
export function news(told: Told, looked: Looked | null): News {
  const focus = looked?.uri ?? null;
  const filled = looked === null ? undefined : marked(looked);
  const isNewFocus = focus !== told.focus;
  const isNewSelection = filled !== undefined && differs(told.selection, filled);
  return {
    focus: isNewFocus ? focus : undefined,
    selection: isNewSelection ? filled : undefined,
    told: { focus, selection: isNewSelection ? filled : told.selection },
  };
}

function marked(looked: Looked): Looked {
  const ranges = looked.ranges.filter((one) => !isEmpty(one)).slice(0, MOST_RANGES);
  return { ...looked, ranges };
}

function isEmpty(range: PlainRange): boolean {
  return range.start.line === range.end.line && range.start.character === range.end.character;
}

/** Returns whether the selection differs; a moving cursor selects no text, which is sent once. */
function differs(before: Looked | undefined, now: Looked): boolean {
  if (now.ranges.length === 0) return before === undefined || before.ranges.length > 0;
  if (before === undefined || before.uri !== now.uri || before.version !== now.version) return true;
  return (
    before.ranges.length !== now.ranges.length ||
    before.ranges.some((one, index) => !same(one, now.ranges[index]))
  );
}

function same(one: PlainRange, other: PlainRange | undefined): boolean {
  return (
    other !== undefined &&
    one.start.line === other.start.line &&
    one.start.character === other.start.character &&
    one.end.line === other.end.line &&
    one.end.character === other.end.character
  );
}
