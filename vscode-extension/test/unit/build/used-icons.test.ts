import assert from "node:assert/strict";
import { test } from "node:test";
import { withUsedIcons } from "../../../build/used-icons.ts";

test("the style sheet keeps only the icons that the script names, and all other rules", () => {
  const sign = (name: string) => `.codicon-${name}:before{content:"\\ea60"}`;
  const styles = `.codicon[class*=codicon-]{flex:none}${["add", "check-all", "bold", "arrow-down"].map(sign).join("")}p{margin:0}`;
  const script = 'x=["add","check-all"];y=`codicon codicon-arrow-down`;boldly()';
  assert.equal(
    withUsedIcons(styles, script),
    `.codicon[class*=codicon-]{flex:none}${["add", "check-all", "arrow-down"].map(sign).join("")}p{margin:0}`,
  );
});
