/**
 * Draws pieces of text; marked pieces have the reason in a title, and as text for screen readers.
 */
import type { MarkedPiece } from "./risky-parts.ts";

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
