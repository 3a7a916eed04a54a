/** Formats prices for people. Pure. */

/** Formats a price for a million tokens in US dollars: `$0.30`, `$15`, `$0.075`, `free`. */
export function priceWords(dollars: number): string {
  if (dollars === 0) return "free";
  const digits = dollars < 0.1 ? 3 : 2;
  return `$${dollars.toFixed(digits).replace(/\.00$/, "")}`;
}
