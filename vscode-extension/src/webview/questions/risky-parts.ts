/** Finds in a command the parts that are the reason for a question, so that they can be marked. Pure. */
import type { Piece } from "../../shared/visible.ts";

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
export interface MarkedPiece extends Piece {
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
