// Surfaces that can be turned, drawn on plain 2D canvases: each quad of the grid, from the farthest to the nearest.
// An element with the id "surfaces" holds them as JSON; canvases of the class "surface" show them in the same order.
(() => {
  "use strict";
  const { panels, colours, most } = JSON.parse(document.getElementById("surfaces").textContent);
  const canvases = [...document.querySelectorAll("canvas.surface")];
  const BOTTOM = 0.46; // of the surface, where its contours lie at 0 and its top at 1
  let turn = -0.55, lift = 0.46, turning = null, waiting = false; // radians

  const mix = (a, b, t) => a.map((part, i) => Math.round(part + t * (b[i] - part)));
  const parts = colours.map((colour) => [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16)));
  const shades = Array.from({ length: 64 }, (_, i) => {
    const place = (i / 63) * (parts.length - 1), low = Math.min(Math.floor(place), parts.length - 2);
    return `rgb(${mix(parts[low], parts[low + 1], place - low).join(",")})`;
  });
  const shade = (share) => shades[Math.max(0, Math.min(63, Math.round(63 * share)))];

  function view(canvas) {
    const [sin, cos, up, down] = [Math.sin(turn), Math.cos(turn), Math.sin(lift), Math.cos(lift)];
    const size = 0.55 * Math.min(canvas.width, canvas.height);
    const middle = [canvas.width * 0.46, canvas.height * 0.52]; // there is room on the right for the scale
    return (x, y, z) => {
      const across = x * cos - y * sin, away = x * sin + y * cos;
      return [middle[0] + size * across, middle[1] - size * (away * up + (z - 0.5) * 1.25 * down), away];
    };
  }

  function quads(panel, step, point) {
    const rows = panel.heights.length, columns = panel.heights[0].length, found = [];
    for (let i = 0; i + 1 < rows; i += step) {
      for (let j = 0; j + 1 < columns; j += step) {
        const a = Math.min(i + step, rows - 1), b = Math.min(j + step, columns - 1);
        const corners = [[i, j], [a, j], [a, b], [i, b]];
        const heights = corners.map(([r, c]) => panel.heights[r][c]);
        if (heights.includes(null)) continue; // a gap
        const places = corners.map(([r, c]) => [r / (rows - 1) - 0.5, c / (columns - 1) - 0.5]);
        const share = heights.reduce((sum, height) => sum + height, 0) / 4;
        const depth = point(...places[0], 0)[2] + point(...places[2], 0)[2];
        found.push({ places, heights, share, depth });
      }
    }
    return found.sort((a, b) => b.depth - a.depth);
  }

  function fill(pen, corners, colour, edge) {
    pen.beginPath();
    corners.forEach(([x, y], i) => (i ? pen.lineTo(x, y) : pen.moveTo(x, y)));
    pen.closePath();
    pen.fillStyle = pen.strokeStyle = colour;
    pen.fill();
    if (edge) pen.strokeStyle = edge;
    pen.stroke();
  }

  function write(pen, text, [x, y], colour, bold) {
    pen.font = `${bold ? "bold " : ""}${Math.round(12 * devicePixelRatio)}px system-ui, sans-serif`;
    pen.fillStyle = colour;
    pen.fillText(text, x, y);
  }

  function draw(canvas, panel) {
    const box = canvas.getBoundingClientRect();
    canvas.width = Math.round(box.width * devicePixelRatio);
    canvas.height = Math.round(box.height * devicePixelRatio);
    const pen = canvas.getContext("2d"), point = view(canvas);
    const look = getComputedStyle(document.documentElement);
    const [ink, muted, rule] = ["ink", "muted", "rule"].map((name) => look.getPropertyValue(`--${name}`));
    const found = quads(panel, Math.ceil(panel.heights.length / most), point);
    pen.lineWidth = 0.6 * devicePixelRatio;
    pen.lineJoin = "round";
    for (const { places, share } of found) fill(pen, places.map(([x, y]) => point(x, y, 0)), shade(share));
    const [centre, away] = [point(0, 0, 0), 16 * devicePixelRatio];
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    for (const [text, x, y] of panel.ends) {
      const edge = point(x, y, 0), [dx, dy] = [edge[0] - centre[0], edge[1] - centre[1]];
      const length = Math.hypot(dx, dy) || 1;
      write(pen, text, [edge[0] + (1.4 * away * dx) / length, edge[1] + (away * dy) / length], muted);
    }
    pen.textAlign = "start";
    for (const [name, x, y] of panel.solutions) {
      const [across, down] = point(x, y, 0);
      pen.beginPath();
      pen.arc(across, down, 3.5 * devicePixelRatio, 0, 7);
      pen.fillStyle = "#c2410c";
      pen.fill();
      pen.lineWidth = 3 * devicePixelRatio;
      pen.strokeStyle = "#fff";
      pen.font = `bold ${Math.round(12 * devicePixelRatio)}px system-ui, sans-serif`;
      pen.strokeText(name, across + 7 * devicePixelRatio, down);
      write(pen, name, [across + 7 * devicePixelRatio, down], "#1b2430", true);
      pen.lineWidth = 0.6 * devicePixelRatio;
    }
    for (const { places, heights, share } of found) {
      const corners = places.map(([x, y], i) => point(x, y, BOTTOM + (1 - BOTTOM) * heights[i]));
      fill(pen, corners, shade(share), "rgba(0,0,0,.18)");
    }
    const right = [[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]]; // the edge farthest to the right has the scale
    right.sort((a, b) => point(...b, 0)[0] - point(...a, 0)[0]);
    const foot = point(...right[0], BOTTOM), head = point(...right[0], 1);
    pen.beginPath();
    pen.moveTo(foot[0], foot[1]);
    pen.lineTo(head[0], head[1]);
    pen.strokeStyle = rule;
    pen.stroke();
    for (const [text, share] of panel.marks) {
      const place = point(...right[0], BOTTOM + (1 - BOTTOM) * share);
      write(pen, text, [place[0] + 5 * devicePixelRatio, place[1]], muted);
    }
  }

  function show() {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      canvases.forEach((canvas, i) => draw(canvas, panels[i]));
    });
  }

  function rotate(across, upwards) {
    turn += across;
    lift = Math.max(0.05, Math.min(Math.PI / 2, lift + upwards));
    show();
  }

  for (const canvas of canvases) {
    canvas.addEventListener("pointerdown", (event) => {
      turning = [event.clientX, event.clientY];
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!turning) return;
      rotate((event.clientX - turning[0]) / 120, (event.clientY - turning[1]) / 160);
      turning = [event.clientX, event.clientY];
    });
    for (const end of ["pointerup", "pointercancel"]) {
      canvas.addEventListener(end, () => {
        turning = null;
        show();
      });
    }
    canvas.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, 0.1], ArrowDown: [0, -0.1] }[event.key];
      if (!step) return;
      event.preventDefault();
      rotate(...step);
    });
  }
  addEventListener("resize", show);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);
  show();
})();
