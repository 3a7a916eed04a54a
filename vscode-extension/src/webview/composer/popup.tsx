/**
 * A small box over the panel that keeps the focus inside. Escape or a click outside closes the box;
 * Escape also returns the focus to the button.
 */
import type { ComponentChildren, RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { nextStop } from "./popup-keys.ts";
import { type PopupPlace, popupPlace } from "./popup-place.ts";

export interface PopupProps {
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
