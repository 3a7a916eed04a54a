/**
 * Explains in the panel why no model can be called, because the server's own advice is written for
 * terminals. Pure.
 */
import { plainSentence } from "./plain-sentence.ts";

/**
 * `sentence` names what is missing; `details` is the server's full text, or empty if that text says
 * no more.
 */
export interface LackingWords {
  readonly sentence: string;
  readonly details: string;
}

/** Parses `lacking` of `indwell/status`, or the `reason` of a first run. */
export function lackingWords(reason: string): LackingWords {
  const [what = "", ...advice] = reason.split("; ");
  const isPlain = /^no [A-Za-z ]+ is set$/.test(what.trim());
  const sentence = plainSentence(isPlain ? `${what.trim()} yet` : what);
  return { sentence, details: advice.length === 0 ? "" : plainSentence(advice.join("; ")) };
}
