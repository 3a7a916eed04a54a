/** Draws the server's sentences, with text between backquotes as code. */
import { visible } from "../../shared/visible.ts";

/**
 * Returns a sentence: `the mode is x` becomes `The mode is x`; a quoted command name at the
 * beginning is unchanged.
 */
export function sentenceCase(text: string): string {
  return text.replace(/^\p{Ll}/u, (letter) => letter.toUpperCase());
}

/** Draws the text with backquoted words as code, and with hidden characters made visible. */
export function Coded({ text }: { readonly text: string }) {
  return (
    <>
      {visible(text)
        .split(/`([^`]+)`/)
        .map((part, index) => (index % 2 === 0 ? part : <code key={`${index}`}>{part}</code>))}
    </>
  );
}
