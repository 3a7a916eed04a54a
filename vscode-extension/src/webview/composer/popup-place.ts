/** Places a popup above its button, inside the panel. Pure; all in CSS pixels. */

export interface Box {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

export interface PopupPlace {
  readonly left: number;
  /**
   * The distance of the popup's lower edge from the panel's lower edge, or null if the popup opens
   * downward from `top`.
   */
  readonly bottom: number | null;
  readonly top: number | null;
  readonly maxHeight: number;
  readonly maxWidth: number;
}

const EDGE = 12;
const GAP = 4;
/** With less space above, and more below, the popup opens downward. */
const LEAST = 160;

/**
 * Returns the position of a popup of `width` at `anchor` in a panel; `align` says which edges of
 * popup and anchor are aligned.
 */
export function popupPlace(
  anchor: Box,
  width: number,
  panel: { readonly width: number; readonly height: number },
  align: "start" | "end",
): PopupPlace {
  const maxWidth = Math.max(0, panel.width - 2 * EDGE);
  const wide = Math.min(width, maxWidth);
  const wished = align === "start" ? anchor.left : anchor.right - wide;
  const left = Math.max(EDGE, Math.min(wished, panel.width - EDGE - wide));
  const above = anchor.top - GAP - EDGE;
  const below = panel.height - anchor.bottom - GAP - EDGE;
  if (above >= LEAST || above >= below) {
    return {
      left,
      bottom: panel.height - anchor.top + GAP,
      top: null,
      maxHeight: Math.max(0, above),
      maxWidth,
    };
  }
  return { left, bottom: null, top: anchor.bottom + GAP, maxHeight: Math.max(0, below), maxWidth };
}
