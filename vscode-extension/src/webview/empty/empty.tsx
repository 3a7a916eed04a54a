/** What stands where the conversation will be: one sentence, and suggestions from what is open. */
import { lackingWords } from "../../shared/lacking-words.ts";
import { isBusy } from "../../shared/selectors.ts";
import type { ViewProps } from "../view-props.ts";

export function Empty({ state, post }: ViewProps) {
  if (state.connection.kind !== "ready") return <div class="empty" />;
  if (state.status !== null && state.status.lacking !== "" && !isBusy(state)) {
    return (
      <div class="empty">
        <p>{lackingWords(state.status.lacking).sentence}</p>
        <button
          type="button"
          class="button"
          onClick={() => post({ type: "command", command: "connect" })}
        >
          Connect a model
        </button>
      </div>
    );
  }
  return (
    <div class="empty">
      <p>Ask about the code, or say what to change.</p>
      {state.suggestions.length > 0 && (
        <ul aria-label="Suggestions">
          {state.suggestions.map((one) => (
            <li key={one.title}>
              <button
                type="button"
                class="suggestion"
                title={one.prompt}
                onClick={() => post({ type: "send", text: one.prompt, how: "auto" })}
              >
                {one.title}
              </button>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
