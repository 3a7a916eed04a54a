/** Where the focus goes in a popup. Pure. */

export interface PopupKey {
  readonly key: string;
  readonly shift: boolean;
  readonly modified: boolean;
}

export interface PopupStops {
  /** Arrows, Home, End and letters move; else only Tab does. */
  readonly menu: boolean;
  /** The words of all that can have the focus, in order. */
  readonly labels: readonly string[];
  /** What has it now; -1: none of them. */
  readonly at: number;
  /** Letters that were typed one soon after the other, with this one. */
  readonly typed: string;
}

/** The index that gets the focus; null: the key does not move it. The ends meet. */
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

/** One letter goes to the next row that begins with it, a word to the first that holds it. */
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
