/**
 * Draws text that the user must have seen to its end before allowing it: marks its odd and risky
 * parts, limits what is drawn, and tracks how much of it was on the screen.
 */
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { number, plural, t } from "../../shared/l10n.ts";
import { type Piece, saysItsLength, visibleText } from "../../shared/visible.ts";

/** The first and last lines of a text, and the number of lines between them that are left out. */
interface Bounded {
  readonly head: string;
  readonly left: number;
  readonly tail: string;
}

const HEAD_LINES = 1_500;
const TAIL_LINES = 300;
const MOST_CHARACTERS = 400_000; // The limit is for each half.

/** Returns the first and the last lines; a short text is completely in `head`. */
export function bounded(text: string): Bounded {
  const lines = text.split("\n");
  const fits = lines.length <= HEAD_LINES + TAIL_LINES && text.length <= MOST_CHARACTERS;
  if (fits) return { head: text, left: 0, tail: "" };
  const head = lines.slice(0, HEAD_LINES);
  const tail = lines.slice(Math.max(HEAD_LINES, lines.length - TAIL_LINES));
  return {
    head: head.join("\n").slice(0, MOST_CHARACTERS),
    left: Math.max(lines.length - head.length - tail.length, 1),
    tail: tail.join("\n").slice(-MOST_CHARACTERS),
  };
}

/** The reading state; `folded` means that only the beginning and the last line are shown. */
interface Reading {
  /** Whether the user has looked at the text; only then does a message about the end take space. */
  readonly looked: boolean;
  readonly folded: boolean;
  readonly seen: boolean;
}

/** The state before anything was drawn, in which nothing counts as seen. */
export const UNREAD: Reading = { looked: false, folded: true, seen: false };

const SHORT = 20; // A short line, in characters, is one like `fi` or `)`.

/**
 * Records whether the element after the text's end is on the screen now; once the end was visible,
 * it counts as seen.
 */
export function endShown(reading: Reading, isShown: boolean): Reading {
  if (reading.seen) return reading;
  return { ...reading, looked: true, seen: isShown };
}

/** Records that the user opened the whole text; the user must still scroll to its end. */
export function unfolded(reading: Reading): Reading {
  return { ...reading, folded: false };
}

/** Returns `12 lines, 2,345 characters`. */
export function lengthWords(text: string): string {
  const lines = text.split("\n").length;
  const characters = number([...text].length);
  return plural(lines, "{0} line, {1} characters", "{0} lines, {1} characters", characters);
}

/**
 * Returns the last line of a text that is not blank, together with the line before if the last line
 * is short; at most `most` characters.
 */
export function tail(text: string, most = 160): string {
  const last = text.trimEnd().split("\n").slice(-2);
  const lines = (last.at(-1) ?? "").length < SHORT ? last : last.slice(-1);
  const characters = [...lines.join("\n")];
  return characters.length <= most ? characters.join("") : `…${characters.slice(-most).join("")}`;
}

/**
 * A part that is a reason: the server's text, and its position in the command (UTF-16 units), if
 * found.
 */
export interface RiskyPart {
  readonly part: string;
  readonly reason: string;
  readonly from: number;
  readonly to: number;
}

/** A piece, and whether it is inside a part that is a reason. */
interface MarkedPiece extends Piece {
  readonly risky: boolean;
}

const GAP = "(?:\\s|\\[… \\d+ (?:blanks|empty lines) …\\])+";
const MOST = 20;

/**
 * Parses each of `risky`, which reads `part (reason)`, and finds its position; `from` is -1 if the
 * text does not contain the part.
 */
export function riskyParts(text: string, risky: readonly string[]): readonly RiskyPart[] {
  return risky.slice(0, MOST).map((told) => located(text, told));
}

/** Splits the pieces where a risky part begins or ends. */
export function marked(
  pieces: readonly Piece[],
  parts: readonly RiskyPart[],
): readonly MarkedPiece[] {
  const found = parts.filter((part) => part.from >= 0);
  const edges = [...new Set(found.flatMap((part) => [part.from, part.to]))].sort((a, b) => a - b);
  return pieces
    .flatMap((piece) => split(piece, edges))
    .map((piece) => ({
      ...piece,
      risky: found.some((part) => part.from < piece.at + piece.length && part.to > piece.at),
    }));
}

function located(text: string, told: string): RiskyPart {
  // The reason is in the last brackets, but the part and the reason may contain brackets, too, so
  // the longest part that the text contains is used.
  for (let cut = told.length; cut > 0; cut = told.lastIndexOf(" (", cut - 1)) {
    const part = told.slice(0, cut);
    const found = new RegExp(pattern(part), "u").exec(text);
    if (found !== null && part.trim() !== "") {
      const reason = told.slice(cut + 1).replace(/^\(|\)$/g, "");
      return { part, reason, from: found.index, to: found.index + found[0].length };
    }
  }
  return { part: told, reason: "", from: -1, to: -1 };
}

function pattern(part: string): string {
  const words = part
    .replace(/…$/, "")
    .split(/\s+/)
    .filter((word) => word !== "");
  return words.map((word) => word.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&")).join(GAP);
}

function split(piece: Piece, edges: readonly number[]): readonly Piece[] {
  if (piece.kind !== "plain") return [piece];
  const inside = edges.filter((edge) => edge > piece.at && edge < piece.at + piece.length);
  const bounds = [piece.at, ...inside, piece.at + piece.length];
  return bounds.slice(1).map((end, index) => {
    const at = bounds[index] ?? piece.at;
    const text = piece.text.slice(at - piece.at, end - piece.at);
    return { ...piece, text, at, length: end - at };
  });
}

/** Draws the pieces inside the line. */
export function Pieces({ pieces }: { readonly pieces: readonly MarkedPiece[] }) {
  return (
    <>
      {pieces.map((piece) => (
        <Shown key={piece.at} piece={piece} />
      ))}
    </>
  );
}

function Shown({ piece }: { readonly piece: MarkedPiece }) {
  const risky = piece.risky ? " piece-risky" : "";
  if (piece.kind === "plain")
    return piece.risky ? <mark class={risky.trim()}>{piece.text}</mark> : piece.text;
  return (
    <span class={`piece piece-${piece.kind}${risky}`} title={piece.title}>
      {piece.text}
      {piece.kind === "lookalike" && <span class="sr-only"> ({piece.title})</span>}
    </span>
  );
}

interface Props {
  readonly text: string;
  /**
   * Whether the box starts open: a diff scrolls from the beginning; a long command shows its
   * beginning and its last line.
   */
  readonly startsOpen: boolean;
  /** Whether a part of the text is not drawn, so that the user must open it as a document. */
  readonly isCut: boolean;
  readonly onSeen: () => void;
  readonly openAll: () => void;
  readonly children: ComponentChildren;
}

/**
 * A box for a text that the user must have seen to its end before allowing it; the text's last line
 * is always visible.
 */
export function SeenBox({ text, startsOpen, isCut, onSeen, openAll, children }: Props) {
  const box = useRef<HTMLElement>(null);
  const end = useRef<HTMLDivElement>(null);
  const [reading, setReading] = useState(startsOpen ? unfolded(UNREAD) : UNREAD);
  const [opened, setOpened] = useState(!isCut);
  useEffect(() => {
    // An observer is used instead of scroll positions, because it also notices if something in this
    // box or around the box hides the end.
    const observer = new IntersectionObserver((entries) => {
      const isShown = entries.some((entry) => entry.intersectionRatio > 0);
      setReading((now) => endShown(now, isShown));
    });
    if (end.current !== null) observer.observe(end.current);
    return () => observer.disconnect();
  }, []);
  const isLeft = reading.looked && !reading.seen;
  const length = saysItsLength(text) ? "" : lengthWords(text);
  const done = reading.seen && opened;
  useEffect(() => {
    if (done) onSeen();
  }, [done]);
  const unfold = () => {
    setReading(unfolded);
    box.current?.focus();
  };
  const openDocument = () => {
    setOpened(true);
    openAll();
  };
  return (
    <>
      <section
        ref={box}
        class={reading.folded && !reading.seen ? "seen-box folded" : "seen-box"}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reached by key
        tabIndex={0}
        aria-label={t("Exact text")}
      >
        {children}
        <div ref={end} class="seen-end" />
      </section>
      {isLeft && <Ending text={text} />}
      {isLeft && reading.folded && (
        <button type="button" class="link-button seen-more" onClick={unfold}>
          {length === "" ? t("Show all") : t("Show all: {0}", length)}
        </button>
      )}
      {isLeft && !reading.folded && (
        <p class="muted seen-more">
          {length === ""
            ? t("Scroll to the end to allow it")
            : t("Scroll to the end to allow it: {0}", length)}
        </p>
      )}
      {isCut && !opened && (
        <button type="button" class="link-button seen-more" onClick={openDocument}>
          {t("Open all of it in the editor")}
        </button>
      )}
    </>
  );
}

function Ending({ text }: { readonly text: string }) {
  return (
    <p class="seen-tail">
      <span class="muted">{t("It ends with")} </span>
      <code>
        <Pieces pieces={marked(visibleText(tail(text), "command"), [])} />
      </code>
    </p>
  );
}
