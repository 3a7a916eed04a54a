/** Moves the focus in a popup. Pure. */

export interface PopupKey {
  readonly key: string;
  readonly shift: boolean;
  readonly modified: boolean;
}

export interface PopupStops {
  /** Whether arrows, Home, End and letters move the focus; if false, only Tab moves the focus. */
  readonly menu: boolean;
  /** The labels of all focusable elements, in order. */
  readonly labels: readonly string[];
  /** The index of the focused element, or -1 if no element has the focus. */
  readonly at: number;
  /** Letters typed in quick succession, including this one. */
  readonly typed: string;
}

/**
 * Returns the index of the element that gets the focus, with wrap-around, or null if the key does
 * not move the focus.
 */
export function nextStop(key: PopupKey, stops: PopupStops): number | null {
  const n = stops.labels.length;
  if (n === 0 || key.modified) return null;
  const step = (by: number) => {
    const from = stops.at === -1 && by < 0 ? 0 : stops.at;
    return (((from + by) % n) + n) % n;
  };
  if (key.key === "Tab") return step(key.shift ? -1 : 1);
  if (!stops.menu) return null;
  switch (key.key) {
    case "ArrowDown":
      return step(1);
    case "ArrowUp":
      return step(-1);
    case "Home":
      return 0;
    case "End":
      return n - 1;
    default:
      return key.key.length === 1 && key.key !== " " ? byWords(stops) : null;
  }
}

/**
 * Returns the index of a row by typed letters: for one letter, the next row that begins with the
 * letter; for several, the first row that contains them.
 */
function byWords({ labels, at, typed }: PopupStops): number | null {
  const names = labels.map((label) => label.trim().toLowerCase());
  const order = names.map((_, index) => (at + 1 + index) % names.length);
  const begins = (index: number) => names[index]?.startsWith(typed) === true;
  if (new Set(typed).size === 1) {
    const letter = typed.charAt(0);
    return order.find((index) => names[index]?.startsWith(letter)) ?? null;
  }
  const all = [...names.keys()];
  return all.find(begins) ?? all.find((index) => names[index]?.includes(typed)) ?? null;
}
