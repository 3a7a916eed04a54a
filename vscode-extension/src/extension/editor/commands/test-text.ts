/** Describes a failing test as text for the model. Pure. */

/**
 * The data from the test explorer; without a message (`""`), only the test is known, not how it
 * failed.
 */
export interface FailedTest {
  /** The names from the outermost suite to the test. */
  readonly names: readonly string[];
  readonly place: string;
  readonly message: string;
  readonly expected: string | null;
  readonly actual: string | null;
  readonly failedAt: string;
  readonly stack: readonly string[];
}

/** Returns the text: one line for each fact, and longer texts below their name. */
export function testText(test: FailedTest): string {
  const lines = [`test: ${test.names.join(" > ")}`];
  if (test.place !== "") lines.push(`in: ${test.place}`);
  if (test.failedAt !== "") lines.push(`failed at: ${test.failedAt}`);
  const part = (name: string, text: string | null): void => {
    if (text !== null && text !== "") lines.push(`${name}:`, text.trimEnd());
  };
  part("message", test.message);
  part("expected", test.expected);
  part("actual", test.actual);
  part("stack", test.stack.join("\n"));
  if (test.message === "")
    lines.push("The test explorer did not pass on the message of its result.");
  return lines.join("\n");
}
