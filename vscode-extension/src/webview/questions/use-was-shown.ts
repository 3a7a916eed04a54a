/** Whether a mark was on the screen at some time. */
import type { RefObject } from "preact";
import { useEffect, useState } from "preact/hooks";

/** Stays true once it was. Whatever hides the mark, of its own box or around it, it was not shown. */
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
