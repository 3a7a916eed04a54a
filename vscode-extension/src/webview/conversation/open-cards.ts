/** Which cards the user has opened or closed; rows come and go with the scroll, this stays. */
export class OpenCards {
  readonly #chosen = new Map<string, boolean>();

  isOpen(key: string, byDefault: boolean): boolean {
    return this.#chosen.get(key) ?? byDefault;
  }

  choose(key: string, open: boolean): void {
    this.#chosen.set(key, open);
  }
}
