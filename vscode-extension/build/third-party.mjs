// The notices of the packages that went into the bundles, made from what esbuild really read.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const PERMISSIVE =
  /^\(?(MIT|ISC|BSD-2-Clause|BSD-3-Clause|0BSD|Apache-2\.0|BlueOak-1\.0\.0|Python-2\.0|CC-BY-4\.0|MPL-2\.0 OR Apache-2\.0)\)?$/;

/**
 * One text with name, version, licence and licence text of every package among the inputs.
 *
 * Throws where a package has no licence text, or one that is not permissive: it must not ship.
 *
 * @param {readonly string[]} inputs paths that a bundle was made of
 * @returns {string}
 */
export function thirdPartyNotices(inputs) {
  const folders = new Set(inputs.flatMap((path) => packageFolder(path) ?? []));
  /** @type {Map<string, string[]>} */
  const owners = new Map(); // one licence text is written once
  for (const folder of [...folders].sort()) {
    const { name, text } = notice(folder);
    owners.set(text, [...(owners.get(text) ?? []), name]);
  }
  const notices = [...owners].map(
    ([text, names]) => `${"-".repeat(80)}\n${names.join("\n")}\n\n${text}\n`,
  );
  return `Indwell contains these packages.\n\n${notices.join("\n")}`;
}

/** @param {string} path */
function packageFolder(path) {
  return /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1];
}

/** @param {string} folder */
function notice(folder) {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  if (!PERMISSIVE.test(license))
    throw new Error(`${name}: the licence ${license} is not permissive`);
  const texts = readdirSync(folder).filter((file) => /^licen[cs]e/i.test(file));
  const text = texts.map((file) => readFileSync(join(folder, file), "utf8").trim()).join("\n\n");
  if (text === "" && !existsSync(join(folder, "package.json")))
    throw new Error(`${name}: no licence`);
  return { name: `${name} ${version} (${license})`, text };
}
