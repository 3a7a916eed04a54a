/** Says that a key or a click came too early. Always there, so that a screen reader hears what it says next. */
export function Early({ words }: { readonly words: string }) {
  return (
    <p class="answers-early" role="status">
      {words}
    </p>
  );
}
