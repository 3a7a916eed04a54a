/** A codicon, silent for screen readers, because the label of its button or row has the meaning. */
export function Icon({ name, spin = false }: { readonly name: string; readonly spin?: boolean }) {
  return (
    <span
      class={`codicon codicon-${name}${spin ? " codicon-modifier-spin" : ""}`}
      aria-hidden="true"
    />
  );
}
