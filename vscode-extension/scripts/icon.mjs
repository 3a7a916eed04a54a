/** Draws media/icon.png (128 px) from the same lines as media/indwell.svg; needs nothing but Node. */
import { writeFileSync } from "node:fs";
import { crc32, deflateSync } from "node:zlib";

const SIZE = 128;
/** Points of a pixel's side that are looked at: smooth edges. */
const SAMPLES = 4;
/** Of the 24 by 24 drawing, in pixels; the drawing stands in the middle. */
const SCALE = 4;
const GROUND = [31, 58, 75];
const LINE = [240, 244, 247];
/** Lines of the drawing: a house. */
const STROKES = [
  [
    [3.5, 10.75],
    [12, 3.5],
    [20.5, 10.75],
    [20.5, 20.5],
    [3.5, 20.5],
    [3.5, 10.75],
  ],
];
/** A star with four points in the house: its middle, and the length of a point. */
const STAR = { x: 12, y: 13, size: 4.25 };
/** How much the sides of the star bend inwards; 1 are straight ones. */
const BENT = 0.58;
const HALF_WIDTH = 0.8;
const CORNER = 28;

writeFileSync(new URL("../media/icon.png", import.meta.url), png(drawn()));

function drawn() {
  const rows = Buffer.alloc(SIZE * (SIZE * 4 + 1));
  for (let y = 0; y < SIZE; y += 1) {
    for (let x = 0; x < SIZE; x += 1) {
      let ground = 0;
      let line = 0;
      for (let sample = 0; sample < SAMPLES * SAMPLES; sample += 1) {
        const px = x + ((sample % SAMPLES) + 0.5) / SAMPLES;
        const py = y + (Math.floor(sample / SAMPLES) + 0.5) / SAMPLES;
        if (!isInside(px, py)) continue;
        ground += 1;
        if (isOnLine((px - SIZE / 2) / SCALE + 12, (py - SIZE / 2) / SCALE + 12)) line += 1;
      }
      const share = ground === 0 ? 0 : line / ground;
      const at = y * (SIZE * 4 + 1) + 1 + x * 4;
      for (let channel = 0; channel < 3; channel += 1) {
        rows[at + channel] = Math.round(GROUND[channel] * (1 - share) + LINE[channel] * share);
      }
      rows[at + 3] = Math.round((ground / (SAMPLES * SAMPLES)) * 255);
    }
  }
  return rows;
}

/** In the square with round corners. */
function isInside(x, y) {
  const inner = SIZE / 2 - CORNER;
  const dx = Math.max(Math.abs(x - SIZE / 2) - inner, 0);
  const dy = Math.max(Math.abs(y - SIZE / 2) - inner, 0);
  return Math.hypot(dx, dy) <= CORNER;
}

function isOnLine(x, y) {
  const [dx, dy] = [Math.abs(x - STAR.x) / STAR.size, Math.abs(y - STAR.y) / STAR.size];
  if (dx ** BENT + dy ** BENT <= 1) return true;
  return STROKES.some((points) =>
    points.slice(1).some((to, index) => distance(x, y, points[index], to) <= HALF_WIDTH),
  );
}

/** From a point to a stretch of a line. */
function distance(x, y, [ax, ay], [bx, by]) {
  const length = (bx - ax) ** 2 + (by - ay) ** 2;
  const share = Math.min(1, Math.max(0, ((x - ax) * (bx - ax) + (y - ay) * (by - ay)) / length));
  return Math.hypot(x - ax - share * (bx - ax), y - ay - share * (by - ay));
}

/** RGBA rows, each with its filter byte, as a PNG. */
function png(rows) {
  const head = Buffer.alloc(13);
  head.writeUInt32BE(SIZE, 0);
  head.writeUInt32BE(SIZE, 4);
  head.set([8, 6, 0, 0, 0], 8);
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  const parts = [
    chunk("IHDR", head),
    chunk("IDAT", deflateSync(rows, { level: 9 })),
    chunk("IEND", Buffer.alloc(0)),
  ];
  return Buffer.concat([signature, ...parts]);
}

function chunk(name, data) {
  const body = Buffer.concat([Buffer.from(name, "latin1"), data]);
  const size = Buffer.alloc(4);
  size.writeUInt32BE(data.length);
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([size, body, sum]);
}
