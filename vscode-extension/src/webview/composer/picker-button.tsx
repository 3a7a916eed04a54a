/** A flat button of the footer that opens a popup. */
import type { ComponentChildren, RefObject } from "preact";

export interface PickerButtonProps {
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
