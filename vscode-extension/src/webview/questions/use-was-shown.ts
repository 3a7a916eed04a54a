/** A hook that says whether a mark was ever on the screen. */
import type { RefObject } from "preact";
import { useEffect, useState } from "preact/hooks";

/**
 * Stays true once the mark was shown. If anything hides the mark, in its own box or around it, the
 * mark was not shown.
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
