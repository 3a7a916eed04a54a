/** Formats prices for people. Pure. */
import { number, t } from "../../shared/l10n.ts";

/** Formats a price for a million tokens in US dollars: `$0.30`, `$15`, `$0.075`, `free`. */
export function priceWords(dollars: number): string {
  if (dollars === 0) return t("free");
  const digits = dollars < 0.1 ? 3 : 2;
  return number(dollars, {
    style: "currency",
    currency: "USD",
    currencyDisplay: "narrowSymbol",
    minimumFractionDigits: Number.isInteger(dollars) ? 0 : digits,
    maximumFractionDigits: digits,
  });
}
