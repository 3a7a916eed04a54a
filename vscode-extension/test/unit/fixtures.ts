/** Builds values of the protocol and the panel from the fields that matter to a test. */
import type { PermissionParams, StatusResult, Usage } from "../../src/protocol.ts";
import type { ToolPart } from "../../src/shared/state/state.ts";

/** The tokens of a model call, all reported by the endpoint. */
export function usage(input: number, output: number, cached = 0): Usage {
  const none = { cache_write: 0, cache_hour: 0, thinking: 0 };
  return { input, output, cached, reported: true, ...none };
}

/** The status of a server that can call a model and has no session. */
export function statusResult(more: Partial<StatusResult> = {}): StatusResult {
  return {
    session: null,
    title: "",
    mode: "review",
    modes: ["ask", "review"],
    model: "m",
    lacking: "",
    trusted: true,
    undecided: "",
    unapproved: [],
    demo: "",
    running: null,
    beside: [],
    version: "1",
    pictures: null,
    cost: null,
    effort: "",
    efforts: [],
    ...more,
  };
}

/** A question whether the command `make` may run. */
export function permission(more: Partial<PermissionParams> = {}): PermissionParams {
  return {
    id: "q",
    kind: "command",
    title: "Run a command?",
    detail: "make",
    reason: "",
    rule: "make",
    cwd: "",
    session: "",
    sandbox: "",
    more: "",
    why: "",
    wanted: false,
    risky: [],
    hunks: [],
    ...more,
  };
}

/** A running call of the tool `bash`. */
export function toolPart(more: Partial<ToolPart> = {}): ToolPart {
  return {
    kind: "tool",
    key: "k",
    id: "1",
    name: "bash",
    target: "make",
    state: "running",
    figure: "",
    seconds: null,
    message: "",
    output: "",
    cut: 0,
    result: null,
    arguments: null,
    diffs: [],
    inner: [],
    tokens: 0,
    ...more,
  };
}
