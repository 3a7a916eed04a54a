/** The only owner of the panel's state. */
import type { Action } from "../../shared/action.ts";
import { initialState, reduce } from "../../shared/reducer.ts";
import type { PanelState } from "../../shared/state.ts";

/** Called with every action right after it was reduced. */
export type Heard = (action: Action, state: PanelState) => void;

export class Store {
  #state: PanelState;
  readonly #listeners = new Set<Heard>();

  constructor(state: PanelState = initialState) {
    this.#state = state;
  }

  /** The current state. */
  get state(): PanelState {
    return this.#state;
  }

  /**
   * Reduce an action and notify listeners, in at most a millisecond. An arrow function, so that it
   * can be passed on.
   */
  readonly dispatch = (action: Action): void => {
    this.#state = reduce(this.#state, action);
    for (const hear of this.#listeners) hear(action, this.#state);
  };

  /** Subscribe to all later actions; the returned function unsubscribes. */
  listen(heard: Heard): () => void {
    this.#listeners.add(heard);
    return () => void this.#listeners.delete(heard);
  }
}
