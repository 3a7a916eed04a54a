/** Sentences of the server: as a sentence, with what stands between backquotes as code. */
import { visible } from "../../shared/visible.ts";

/** `the mode is x` becomes `The mode is x`; a name of a command at the beginning, which is quoted, stays. */
export function sentenceCase(text: string): string {
  return text.replace(/^\p{Ll}/u, (letter) => letter.toUpperCase());
}

/** The text, with `words` in backquotes drawn as code, and nothing in it hidden. */
export function Coded({ text }: { readonly text: string }) {
  return (
    <>
      {visible(text)
        .split(/`([^`]+)`/)
        .map((part, index) => (index % 2 === 0 ? part : <code key={`${index}`}>{part}</code>))}
    </>
  );
}
