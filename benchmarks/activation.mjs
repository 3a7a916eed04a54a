// Loads a bundle with a `vscode` of paper, activates it, and prints the milliseconds of both.
//   node activation.mjs BUNDLE.js
// What the extension host has loaded for itself costs an extension nothing.
import "node:child_process";
import "node:crypto";
import "node:fs/promises";
import "node:os";
import { createRequire, Module } from "node:module";
import { resolve } from "node:path";

/** Anything that is asked of it, called, made or extended: itself. */
const paper = new Proxy(function anything() {}, {
  get: (target, name) => {
    if (name === Symbol.toPrimitive) return () => "";
    if (name === Symbol.iterator) return function* () {};
    if (name === "then") return undefined;
    return name === "prototype" ? target.prototype : paper;
  },
  getPrototypeOf: () => paper, // a bundle copies the module's own names, and finds the others here
  set: () => true,
  apply: () => paper,
  construct: () => paper,
});

const load = Module._load;
Module._load = (name, ...rest) => (name === "vscode" ? paper : load(name, ...rest));
const require = createRequire(import.meta.url);
const context = {
  subscriptions: [],
  secrets: paper,
  workspaceState: paper,
  globalState: paper,
  globalStorageUri: paper,
  extensionUri: paper,
  asAbsolutePath: (path) => path,
};
const started = performance.now();
const extension = require(resolve(process.argv[2]));
const loaded = performance.now();
extension.activate(context);
const active = performance.now();
console.log(JSON.stringify({ load: loaded - started, activate: active - loaded }));
process.exit(0);
