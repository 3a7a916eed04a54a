/**
 * Says that a key or a click came too early. The element is always present, so that a screen reader
 * announces its next text.
 */
export function Early({ words }: { readonly words: string }) {
  return (
    <p class="answers-early" role="status">
      {words}
    </p>
  );
}
