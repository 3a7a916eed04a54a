/** A hook that says whether an element was ever on the screen. */
import type { RefObject } from "preact";
import { useEffect, useState } from "preact/hooks";

/**
 * Returns true from the time at which the element `mark` was first visible. The element is not
 * visible if its own box or anything around this box hides it.
 */
export function useWasShown(mark: RefObject<HTMLElement | null>): boolean {
  const [was, setWas] = useState(false);
  useEffect(() => {
    const observer = new IntersectionObserver((entries) => {
      if (entries.some((entry) => entry.intersectionRatio > 0)) setWas(true);
    });
    if (mark.current !== null) observer.observe(mark.current);
    return () => observer.disconnect();
  }, []);
  return was;
}
