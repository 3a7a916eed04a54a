// An image stands still. As an object of the page, the same file plays: see benchmarks/context_study/playback.py.
for (const image of document.querySelectorAll('article img[src$="context-engine.svg"]')) {
  const figure = document.createElement("object");
  figure.type = "image/svg+xml";
  figure.data = image.src;
  figure.setAttribute("aria-label", image.alt);
  const frame = document.createElement("div");
  frame.className = "live-figure";
  frame.append(figure);
  (image.closest("a") ?? image).replaceWith(frame);
}
