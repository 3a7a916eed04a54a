/** A turn of a page (`indwell/session`) as the panel shows it. */
import type { InnerRow, PieceRow, TurnRow } from "../protocol.ts";
import { diffFiles } from "./diff-files.ts";
import type { LinePart, Part, ToolPart, Turn } from "./state.ts";
import { chips } from "./turn-ends.ts";
import { emptyTurn } from "./turn-list.ts";
import { callEnd, newTool, STOPPED } from "./turn-tools.ts";

/** Characters of a failed call's result that its line shows. */
const MESSAGE_KEPT = 2000;

/** The session's id is for terminals: the panel names sessions by their titles. */
const FORKED = /^forked from session \S+,/;

/** `running`: the server said that this is the turn at work; without that an open end is a kill. */
export function turnOfPage(session: string, model: string, row: TurnRow, running: boolean): Turn {
  const words = row.pieces.find((piece) => piece.kind === "user")?.text ?? "";
  const images = row.pieces
    .filter((piece) => piece.kind === "image")
    .map((piece) => ({ label: piece.target || piece.text, url: null }));
  const parts = row.pieces.flatMap((piece, place) =>
    partOf(piece, `p${row.turn}.${place}`, place === firstWords(row), running),
  );
  return {
    ...emptyTurn(session, row.turn),
    words,
    title: row.title || firstLine(words),
    chips: chips(row.attached, images),
    images,
    parts,
    ending: row.ending ?? (running ? "running" : "interrupted"),
    mode: row.mode,
    model,
    message: row.message,
    input: row.usage.input,
    cached: row.usage.cached,
    output: row.usage.output,
    cost: row.usage.cost,
    seconds: row.seconds,
    changes: row.changes,
    left: row.left,
    // The log holds what models have answered in full, not what streams right now.
    whole: row.ending !== null,
    round: parts.length,
  };
}

function firstWords(row: TurnRow): number {
  return row.pieces.findIndex((piece) => piece.kind === "user");
}

function partOf(
  piece: PieceRow,
  key: string,
  isPrompt: boolean,
  running: boolean,
): readonly Part[] {
  switch (piece.kind) {
    case "user":
      return isPrompt ? [] : [line("steered", piece.text, key)];
    case "assistant":
      return [words("text", piece.text, key)];
    case "thinking":
      return [words("thinking", piece.text, key)];
    case "tool":
      return [card(piece, key, running)];
    case "notice":
      return [noticeLine(piece.text, key)];
    case "attached":
    case "image":
      return [];
    default:
      return piece.kind satisfies never;
  }
}

function words(kind: "text" | "thinking", text: string, key: string): Part {
  return { kind, key, text, final: true, ms: null, since: null };
}

function line(what: LinePart["what"], text: string, key: string): LinePart {
  return { kind: "line", key, what, text };
}

function noticeLine(text: string, key: string): LinePart {
  const what = text.startsWith("the conversation was compacted") ? "compacted" : "info";
  const words = text.replace(FORKED, "forked from another session,");
  return line(what, words.slice(0, 1).toUpperCase() + words.slice(1), key);
}

function card(piece: PieceRow, key: string, running: boolean): ToolPart {
  const open = running ? ({ state: "running" } as const) : STOPPED;
  // The results of one reply come together; each call ends when it ends.
  const isOver = piece.answered || piece.seconds !== null;
  return {
    ...newTool(piece.id, piece.source, piece.target, key),
    figure: piece.figure,
    ...(isOver ? callEnd(piece.error, piece.text) : open),
    seconds: piece.seconds,
    message: piece.error ? piece.text.slice(0, MESSAGE_KEPT) : "",
    diffs: diffFiles(piece.diff, piece.target),
    inner: piece.inner.map((one, place) => innerCard(one, `${key}.${place}`, running && !isOver)),
  };
}

/** What a sub-agent did, as its events have it. */
function innerCard(row: InnerRow, key: string, running: boolean): ToolPart {
  const open = running ? ({ state: "running" } as const) : STOPPED;
  return {
    ...newTool(row.id, row.name, row.target, key),
    figure: row.figure,
    seconds: row.seconds,
    message: row.message,
    diffs: diffFiles(row.diff, row.target),
    ...(row.ended ? callEnd(row.error, row.message) : open),
  };
}

function firstLine(text: string): string {
  return text.trimStart().split("\n", 1)[0]?.slice(0, 80) ?? "";
}
