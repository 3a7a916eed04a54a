/** Code with the editor's colours, as the extension host sends it to the panel. */

/**
 * The style of a part of code: a colour of the theme, or the kind of the part, which the panel's
 * styles colour.
 */
export interface CodeStyle {
  /** `#rrggbb` or `#rrggbbaa`; empty for the editor's own text colour. */
  readonly colour: string;
  /** A class such as `hljs-string`, or empty if the theme has decided. */
  readonly kind: string;
  readonly italic: boolean;
  readonly bold: boolean;
  readonly underline: boolean;
}

/**
 * `runs` alternates the length of a run in UTF-16 units and the index of its style; the lengths add
 * up to the code's length.
 */
export interface Coloured {
  readonly styles: readonly CodeStyle[];
  readonly runs: readonly number[];
}

/** Longer code, in UTF-16 units, is not coloured. */
export const LONGEST_COLOURED = 20_000;
