// Plays the recorded session of the picture that holds this script.
(() => {
  const data = DATA;
  const svg = document.currentScript.ownerSVGElement;
  const [left, top, width, height] = data.strip;
  const [from, chartTop, chartWidth, chartHeight] = data.chart;
  const last = data.steps.length - 1;
  const ROW = 21;
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
  let narrow = false;
  const say = (name, sentence) => {
    const line = svg.querySelector(name);
    line.replaceChildren();
    for (const [row, part] of (narrow ? sentence.split(/(?<=;) /) : [sentence]).entries())
      make("tspan", { x: left, dy: row && ROW }, line).textContent = part;
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
    say(
      "#first",
        `Request ${request + 1} of ${last + 1}: ${number(tokens)} of ${number(data.window)} tokens; ` +
        `${Math.round((100 * read) / tokens)}% come from the prompt cache.`,
    );
    say(
      "#second",
        `${number(came)} tokens arrived; ${cut} blocks are shortened or gone; ` +
        `${whole} of ${said.length} prompts are whole.`,
    );
    const place = from + (chartWidth * request) / last;
    const head = svg.querySelector("#head");
    head.setAttribute("x1", place);
    head.setAttribute("x2", place);
    at = request;
  };
  let at = data.at;
  let timer = 0;
  const button = make("g", { id: "play", role: "button", tabindex: 0, "aria-label": "Play" }, svg);
  make("rect", { y: 12, width: 80, height: 26, rx: 5, class: "button" }, button);
  const label = make("text", { x: 40, y: 30, class: "middle" }, button);
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
    svg.querySelector("#chart"),
  );
  plane.style.cursor = "ew-resize";
  const seek = (event) => {
    if (event.type === "pointermove" && !event.buttons) return;
    const spot = new DOMPoint(event.clientX, event.clientY).matrixTransform(
      plane.getScreenCTM().inverse(),
    );
    stop();
    show(Math.min(last, Math.max(0, Math.round((last * (spot.x - from)) / chartWidth))));
  };
  plane.addEventListener("pointerdown", seek);
  plane.addEventListener("pointermove", seek);
  // Moves a row of labels; a label that would leave the picture begins a new row. Returns the number of new rows.
  const flow = (name, x, y, right) => {
    let [next, row] = [x, 0];
    for (const key of svg.querySelector(name).children) {
      const text = key.querySelector("text");
      const wide = Number(text.getAttribute("x")) + Math.round(7.1 * text.textContent.length);
      if (next > x && next + wide > right) [next, row] = [x, row + 1];
      key.setAttribute("transform", `translate(${next} ${y + ROW * row})`);
      next += wide + Number(text.getAttribute("x"));
    }
    return row;
  };
  // On a narrow screen, letters keep their size: strip and chart become narrower, and texts take more rows.
  const arrange = () => {
    const page = Math.min(data.size[0], Math.max(320, innerWidth));
    const right = page - left;
    const place = (name, attributes) => {
      for (const key in attributes) svg.querySelector(name).setAttribute(key, attributes[key]);
    };
    narrow = page < 680;
    const across = (right - left) / width;
    place("#strip", { transform: `matrix(${across} 0 0 1 ${left * (1 - across)} 0)` });
    place("#frame", { width: right - left });
    place("#play", { transform: `translate(${right - 80})` });
    let down = ROW * flow("#kinds", left, 127, right);
    place("#first", { y: 160 + down });
    if (narrow) down += ROW;
    place("#second", { y: 181 + down });
    if (narrow) down += 2 * ROW;
    place("#third", { y: 216 + down });
    const along = (right - from) / chartWidth;
    place("#chart", { transform: `matrix(${along} 0 0 1 ${from * (1 - along)} ${down})` });
    place("#scale", { transform: `translate(0 ${down})` });
    down += ROW * flow("#lines", narrow ? left : from, 454 + down, right);
    place("#card", { width: page, height: data.size[1] + down });
    svg.setAttribute("viewBox", `0 0 ${page} ${data.size[1] + down}`);
    show(at);
  };
  addEventListener("resize", arrange);
  arrange();
})();
