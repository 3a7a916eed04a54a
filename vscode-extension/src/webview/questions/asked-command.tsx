/** Draws the exact text that would run or be read; unusual characters are made visible. */
import { useMemo } from "preact/hooks";
import type { PermissionParams } from "../../protocol.ts";
import { visibleText } from "../../shared/visible.ts";
import { Pieces } from "./pieces.tsx";
import { marked, riskyParts } from "./risky-parts.ts";

export function AskedCommand({ asked }: { readonly asked: PermissionParams }) {
  const pieces = useMemo(
    () => marked(visibleText(asked.detail, "command"), riskyParts(asked.detail, asked.risky)),
    [asked],
  );
  return (
    <code class="asked-text">
      <Pieces pieces={pieces} />
    </code>
  );
}
