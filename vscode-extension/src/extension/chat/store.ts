/** The state of the panel, of which this is the only owner. */
import type { Action } from "../../shared/action.ts";
import { initialState, reduce } from "../../shared/reducer.ts";
import type { PanelState } from "../../shared/state.ts";

/** Hears every action right after it was reduced. */
export type Heard = (action: Action, state: PanelState) => void;

export class Store {
  #state: PanelState = initialState;
  readonly #listeners = new Set<Heard>();

  /** As it is now. */
  get state(): PanelState {
    return this.#state;
  }

  /** Reduce an action and tell of it; at most a millisecond. An arrow, so that it can be handed on. */
  readonly dispatch = (action: Action): void => {
    this.#state = reduce(this.#state, action);
    for (const hear of this.#listeners) hear(action, this.#state);
  };

  /** Hear all actions from now on; what is returned ends it. */
  listen(heard: Heard): () => void {
    this.#listeners.add(heard);
    return () => void this.#listeners.delete(heard);
  }
}
