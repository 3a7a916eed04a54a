/** A codicon that screen readers ignore, because the label of its button or row says the same. */
export function Icon({ name, spin = false }: { readonly name: string; readonly spin?: boolean }) {
  return (
    <span
      class={`codicon codicon-${name}${spin ? " codicon-modifier-spin" : ""}`}
      aria-hidden="true"
    />
  );
}
