/**
 * A small box over the panel that keeps the focus inside, and the button of the footer that opens
 * the box. Escape or a click outside closes the box; Escape also returns the focus to the button.
 */
import type { ComponentChildren, RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

interface PopupKey {
  readonly key: string;
  readonly shift: boolean;
  readonly modified: boolean;
}

interface PopupStops {
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

interface Box {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

interface PopupPlace {
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

interface PopupProps {
  readonly role: "menu" | "dialog";
  readonly label: string;
  readonly id: string;
  readonly anchor: RefObject<HTMLElement | null>;
  readonly align?: "start" | "end";
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

const FOCUSABLE = "button:not(:disabled):not([tabindex='-1']), [tabindex='0'], a[href], input";
const ITEMS = "[role^='menuitem']:not([aria-disabled='true'])";

/** A popup that is open as long as it is mounted. A menu accepts arrow keys and first letters. */
export function Popup(props: PopupProps) {
  const box = useRef<HTMLDivElement>(null);
  const place = usePlace(box, props);
  useFocusInside(box, props);
  useOutside(box, props);
  const about = {
    role: props.role,
    "aria-label": props.label,
    "aria-modal": props.role === "dialog" ? true : undefined,
    onKeyDown: (event: KeyboardEvent & { readonly currentTarget: HTMLElement }) =>
      onKey(event, props),
  };
  return (
    <div ref={box} id={props.id} class="popup" {...about} tabIndex={-1} style={style(place)}>
      {props.children}
    </div>
  );
}

function style(place: PopupPlace | null) {
  if (place === null) return { visibility: "hidden" as const };
  const px = (value: number | null) => (value === null ? "auto" : `${value}px`);
  return {
    left: px(place.left),
    bottom: px(place.bottom),
    top: px(place.top),
    maxHeight: px(place.maxHeight),
    maxWidth: px(place.maxWidth),
  };
}

function usePlace(
  box: RefObject<HTMLDivElement | null>,
  { anchor, align }: PopupProps,
): PopupPlace | null {
  const [place, setPlace] = useState<PopupPlace | null>(null);
  useLayoutEffect(() => {
    const measure = () => {
      if (box.current === null || anchor.current === null) return;
      const panel = { width: window.innerWidth, height: window.innerHeight };
      const at = anchor.current.getBoundingClientRect();
      setPlace(popupPlace(at, box.current.offsetWidth, panel, align ?? "start"));
    };
    measure();
    window.addEventListener("resize", measure);
    return () => window.removeEventListener("resize", measure);
  }, [box, anchor, align]);
  return place;
}

function useFocusInside(box: RefObject<HTMLDivElement | null>, { anchor, role }: PopupProps): void {
  useLayoutEffect(() => {
    const chosen = box.current?.querySelector<HTMLElement>("[aria-checked='true'], [data-first]");
    const first = box.current?.querySelector<HTMLElement>(role === "menu" ? ITEMS : FOCUSABLE);
    const frame = requestAnimationFrame(() => (chosen ?? first ?? box.current)?.focus());
    return () => {
      cancelAnimationFrame(frame);
      // The focus is returned only if it would be lost otherwise; an element that was clicked keeps
      // the focus.
      const active = document.activeElement;
      if (active === null || active === document.body || box.current?.contains(active)) {
        anchor.current?.focus();
      }
    };
  }, [box, anchor, role]);
}

function useOutside(box: RefObject<HTMLDivElement | null>, { anchor, onClose }: PopupProps): void {
  useEffect(() => {
    const close = (event: Event) => {
      const target = event.target instanceof Node ? event.target : null;
      if (box.current?.contains(target) || anchor.current?.contains(target)) return;
      onClose();
    };
    // The webview receives no event for a click in the editor, but loses the focus at such a click.
    window.addEventListener("pointerdown", close, true);
    window.addEventListener("blur", onClose);
    return () => {
      window.removeEventListener("pointerdown", close, true);
      window.removeEventListener("blur", onClose);
    };
  }, [box, anchor, onClose]);
}

function onKey(
  event: KeyboardEvent & { readonly currentTarget: HTMLElement },
  props: PopupProps,
): void {
  const box = event.currentTarget;
  if (event.key === "Escape") {
    event.preventDefault();
    event.stopPropagation();
    props.onClose();
    return;
  }
  const menu = props.role === "menu";
  const stops = [...box.querySelectorAll<HTMLElement>(menu ? ITEMS : FOCUSABLE)];
  const active = document.activeElement;
  const to = nextStop(
    { key: event.key, shift: event.shiftKey, modified: event.ctrlKey || event.metaKey },
    {
      menu,
      labels: stops.map((stop) => stop.textContent ?? ""),
      at: active instanceof HTMLElement ? stops.indexOf(active) : -1,
      typed: recentlyTyped(event),
    },
  );
  if (to === null) return;
  event.preventDefault();
  event.stopPropagation();
  stops[to]?.focus();
}

/** Milliseconds after which letters begin a new word. */
const WORD_ENDS_MS = 700;
let typed = { text: "", at: 0 };

/** Collects letters that are pressed in quick succession; only one popup is open at a time. */
function recentlyTyped(event: KeyboardEvent): string {
  if (event.key.length !== 1) return "";
  const goesOn = event.timeStamp - typed.at < WORD_ENDS_MS;
  typed = { text: (goesOn ? typed.text : "") + event.key.toLowerCase(), at: event.timeStamp };
  return typed.text;
}

interface PickerButtonProps {
  readonly anchor: RefObject<HTMLButtonElement | null>;
  readonly label: string;
  readonly title: string;
  readonly kind: "menu" | "dialog";
  readonly open: boolean;
  readonly popup: string;
  readonly class: string;
  readonly onToggle: () => void;
  readonly children: ComponentChildren;
}

/** A flat button of the footer that opens a popup. */
export function PickerButton(props: PickerButtonProps) {
  return (
    <button
      ref={props.anchor}
      type="button"
      class={`picker ${props.class}`}
      aria-label={props.label}
      title={props.title}
      aria-haspopup={props.kind}
      aria-expanded={props.open}
      aria-controls={props.open ? props.popup : undefined}
      onClick={props.onToggle}
    >
      {props.children}
    </button>
  );
}
