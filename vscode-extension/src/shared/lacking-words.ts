/** Why no model can be called, for people in front of a panel: the server's advice is for terminals. Pure. */
import { plainSentence } from "./plain-sentence.ts";

/** `sentence` is what is missing; `details` all that the server said, empty if that is no more. */
export interface LackingWords {
  readonly sentence: string;
  readonly details: string;
}

/** Takes `lacking` of `indwell/status`, or the `reason` of a first run, apart. */
export function lackingWords(reason: string): LackingWords {
  const [what = "", ...advice] = reason.split("; ");
  const isPlain = /^no [A-Za-z ]+ is set$/.test(what.trim());
  const sentence = plainSentence(isPlain ? `${what.trim()} yet` : what);
  return { sentence, details: advice.length === 0 ? "" : plainSentence(advice.join("; ")) };
}
