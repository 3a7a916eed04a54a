/** A codicon, silent for screen readers: what it stands for is said by the label of its button or row. */
export function Icon({ name, spin = false }: { readonly name: string; readonly spin?: boolean }) {
  return (
    <span
      class={`codicon codicon-${name}${spin ? " codicon-modifier-spin" : ""}`}
      aria-hidden="true"
    />
  );
}
