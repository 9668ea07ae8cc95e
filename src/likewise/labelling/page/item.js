// What is shown of an item: its picture, its text, its fields, or several of them.

import { imageAddress } from "./api.js";
import { h } from "./element.js";

const SMALL = 96; // pictures of fewer pixels are enlarged as squares, not blurred
const WIDTHS = [128, 256, 512, 1024, 2048]; // those that the server makes

// The width to ask for, so that a picture is sharp in a box of so many CSS pixels: one of a few, which the browser can cache.
export function widthFor(pixels) {
  return WIDTHS.find((width) => width >= pixels * Math.min(window.devicePixelRatio, 2)) ?? WIDTHS.at(-1);
}

// A picture, and a promise that settles once it is decoded (or cannot be).
export function picture(item, width, name) {
  const image = h("img", { alt: name, draggable: false, decoding: "sync" });
  image.addEventListener("load", () => image.classList.toggle("pixels", image.naturalWidth <= SMALL));
  image.addEventListener("error", () =>
    image.replaceWith(h("p", { class: "missing" }, `${name}: this picture cannot be shown.`)),
  );
  image.src = imageAddress(item, width);
  return { element: image, ready: image.decode().catch(() => null) };
}

export function text(runs) {
  return runs.map(([part, differs]) => (differs ? h("mark", {}, part) : part));
}

export function fields(values) {
  const rows = Object.entries(values).map(([name, value]) =>
    h("div", {}, h("dt", {}, name), h("dd", {}, written(value))),
  );
  return h("dl", { class: "fields" }, rows);
}

export function written(value) {
  if (value === null || value === undefined) return "–";
  return typeof value === "number" ? String(Number(value.toPrecision(10))) : String(value); // 5.3, not 5.299999999999999
}

// An item in little: for groups, grids and chains.
export function thumbnail(item, name, width = 128) {
  if (item.image) return picture(item, width, name).element;
  const content =
    item.text ??
    Object.entries(item.fields ?? {})
      .map(([key, value]) => `${key}: ${written(value)}`)
      .join(", ");
  return h("span", { class: "snippet" }, content);
}
