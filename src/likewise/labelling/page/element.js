// Make an element. Children are elements or text: text is always inserted as text, never as markup.

export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "class") element.className = value;
    else if (name in element && typeof value !== "string") element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

export const one = (selector) => document.querySelector(selector);

export function count(number, singular, plural = `${singular}s`) {
  return `${number.toLocaleString("en")} ${number === 1 ? singular : plural}`;
}
