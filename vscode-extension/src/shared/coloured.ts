/** Code with the colours of the editor, as the extension host sends it to the panel. */

/** How a piece of code looks: a colour of the theme, or the kind of piece, which the panel's styles colour. */
export interface CodeStyle {
  /** `#rrggbb` or `#rrggbbaa`; empty for the editor's own text colour. */
  readonly colour: string;
  /** Such as `hljs-string`; empty if the theme has decided. */
  readonly kind: string;
  readonly italic: boolean;
  readonly bold: boolean;
  readonly underline: boolean;
}

/** `runs`: length in UTF-16 units and index of a style, by turns; together as long as the code. */
export interface Coloured {
  readonly styles: readonly CodeStyle[];
  readonly runs: readonly number[];
}

/** Longer code stays plain. In UTF-16 units. */
export const LONGEST_COLOURED = 20_000;
