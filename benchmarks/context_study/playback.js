// Plays the recorded session of the picture that holds this script.
(() => {
  const data = DATA;
  const svg = document.currentScript.ownerSVGElement;
  const [left, top, width, height] = data.strip;
  const [from, chartTop, chartWidth, chartHeight] = data.chart;
  const last = data.steps.length - 1;
  const make = (name, attributes, parent) => {
    const one = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const key in attributes) one.setAttribute(key, attributes[key]);
    return parent.appendChild(one);
  };
  const slices = (request) => {
    const order = [];
    const born = [];
    const now = [];
    for (const [added, changed] of data.steps.slice(0, request + 1)) {
      for (const [place, kind, tokens] of added) {
        order.splice(place, 0, born.length);
        born.push([data.kinds[kind], tokens]);
        now.push(tokens);
      }
      for (const [number, tokens] of changed) now[number] = tokens;
    }
    return order.map((number) => [...born[number], now[number]]);
  };
  const number = (value) => value.toLocaleString("en");
  const show = (request) => {
    const strip = svg.querySelector("#strip");
    strip.replaceChildren();
    const found = slices(request);
    let x = left;
    for (const [kind, was, now] of [["system", data.prefix, data.prefix], ...found]) {
      const wide = (width * now) / data.window;
      const kinds = now < was ? `${kind} cut` : kind;
      if (wide > 0) make("rect", { x, y: top, width: wide, height, class: kinds }, strip);
      x += wide;
    }
    const [, , tokens, read] = data.steps[request];
    const came = found.reduce((sum, [kind, was]) => sum + (kind === "note" ? 0 : was), data.prefix);
    const said = found.filter(([kind]) => kind === "words");
    const whole = said.filter(([, was, now]) => was === now).length;
    const cut = found.filter(([, was, now]) => now < was).length;
    svg.querySelector("#first").textContent =
      `Request ${request + 1} of ${last + 1}: ${number(tokens)} of ${number(data.window)} tokens; ` +
      `${Math.round((100 * read) / tokens)}% come from the prompt cache.`;
    svg.querySelector("#second").textContent =
      `${number(came)} tokens arrived; ${cut} blocks are shortened or gone; ` +
      `${whole} of ${said.length} prompts are whole.`;
    const place = from + (chartWidth * request) / last;
    const head = svg.querySelector("#head");
    head.setAttribute("x1", place);
    head.setAttribute("x2", place);
    at = request;
  };
  let at = data.at;
  let timer = 0;
  const button = make("g", { id: "play", role: "button", tabindex: 0, "aria-label": "Play" }, svg);
  make("rect", { x: 660, y: 12, width: 80, height: 26, rx: 5, class: "button" }, button);
  const label = make("text", { x: 700, y: 30, class: "middle" }, button);
  const stop = () => {
    clearInterval(timer);
    timer = 0;
    label.textContent = "▶ Play";
  };
  const play = () => {
    if (timer) return stop();
    if (at === last) show(0);
    label.textContent = "❚❚ Stop";
    timer = setInterval(() => (at < last ? show(at + 1) : stop()), 140);
  };
  stop();
  button.addEventListener("click", play);
  svg.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (event.key === " " || event.key === "Enter") play();
    else if (step) show(Math.min(last, Math.max(0, at + step)));
    else return;
    event.preventDefault();
  });
  const plane = make(
    "rect",
    { x: from, y: chartTop, width: chartWidth, height: chartHeight, fill: "transparent" },
    svg,
  );
  plane.style.cursor = "ew-resize";
  const seek = (event) => {
    if (event.type === "pointermove" && !event.buttons) return;
    const spot = new DOMPoint(event.clientX, event.clientY).matrixTransform(
      svg.getScreenCTM().inverse(),
    );
    stop();
    show(Math.min(last, Math.max(0, Math.round((last * (spot.x - from)) / chartWidth))));
  };
  plane.addEventListener("pointerdown", seek);
  plane.addEventListener("pointermove", seek);
})();
