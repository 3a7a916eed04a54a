/**
 * Returns the styles without the signs of icons that the script never names. The icon font has 650
 * names, and the panel uses about 100; the rest would take 4 KB of a package. `script` has the names
 * of icons as literals.
 */
export function withUsedIcons(styles: string, script: string): string {
  const named = new Set(script.match(/[a-z][a-z0-9-]+/g));
  return styles.replace(/\.codicon-([\w-]+):before\{content:"[^"]*"\}/g, (rule, name) =>
    named.has(name) || named.has(`codicon-${name}`) ? rule : "",
  );
}
