/** Remembers the cards that the user opened or closed, because rows are removed while scrolling. */
export class OpenCards {
  readonly #chosen = new Map<string, boolean>();

  isOpen(key: string, byDefault: boolean): boolean {
    return this.#chosen.get(key) ?? byDefault;
  }

  choose(key: string, open: boolean): void {
    this.#chosen.set(key, open);
  }
}
