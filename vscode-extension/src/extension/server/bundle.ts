/** Finds the wheel that the extension ships. */
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { environmentName, wheelVersion } from "./environment.ts";

/** A wheel and its requirements. */
export interface Bundle {
  /** The name of the environment in which it is installed. */
  readonly name: string;
  readonly version: string;
  readonly wheel: string;
  readonly requirements: string;
}

/** The bundle in the extension's `folder`; undefined in a checkout without a built one. */
export async function findBundle(folder: string): Promise<Bundle | undefined> {
  const files = await readdir(folder).catch(() => []);
  const file = files.find((name) => wheelVersion(name) !== undefined);
  const version = file === undefined ? undefined : wheelVersion(file);
  if (file === undefined || version === undefined) return undefined;
  const wheel = join(folder, file);
  const requirements = join(folder, "requirements.txt");
  const hash = createHash("sha256");
  for (const path of [wheel, requirements]) hash.update(await readFile(path));
  return { name: environmentName(version, hash.digest("hex")), version, wheel, requirements };
}
