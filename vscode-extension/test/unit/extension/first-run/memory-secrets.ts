/** Secret storage in memory. */
import type { Secrets } from "../../../../src/extension/client/keys.ts";

export function memorySecrets(text?: string): Secrets & { readonly stored: Map<string, string> } {
  const stored = new Map<string, string>();
  if (text !== undefined) stored.set("indwell.keys", text);
  return {
    stored,
    get: async (name) => stored.get(name),
    store: async (name, value) => void stored.set(name, value),
    delete: async (name) => void stored.delete(name),
  };
}
