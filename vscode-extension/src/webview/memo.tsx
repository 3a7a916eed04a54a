/** Wraps components so that they are only rendered again when a prop has another value. */
import { Component, type ComponentChild, type FunctionComponent } from "preact";

function sameProps(left: object, right: object): boolean {
  const leftEntries = Object.entries(left);
  const rightEntries = new Map<string, unknown>(Object.entries(right));
  return (
    leftEntries.length === rightEntries.size &&
    leftEntries.every(([key, value]) => Object.is(rightEntries.get(key), value))
  );
}

/** Returns the same view, which is skipped while its props are the same one level deep. */
export function memo<P extends object>(view: (props: P) => ComponentChild): FunctionComponent<P> {
  const View: FunctionComponent<P> = view;
  class Remembered extends Component<P> {
    override shouldComponentUpdate(next: P): boolean {
      return !sameProps(this.props, next);
    }
    override render(props: P): ComponentChild {
      return <View {...props} />;
    }
  }
  return (props: P) => <Remembered {...props} />;
}
