// Swipes on a touch screen: right for same, left for different. The items follow the finger until it is lifted.

const ENOUGH = 70; // pixels

export function watch(host, answer) {
  let start = null;
  const content = () => host.firstElementChild;
  const reset = () => {
    start = null;
    content()?.style.removeProperty("transform");
    host.removeAttribute("data-swipe");
  };
  host.addEventListener("pointerdown", (event) => {
    if (event.pointerType !== "mouse" && event.isPrimary) start = { x: event.clientX, y: event.clientY };
  });
  host.addEventListener("pointermove", (event) => {
    if (!start || !event.isPrimary) return;
    const x = event.clientX - start.x;
    if (Math.abs(x) < 12 || Math.abs(x) < Math.abs(event.clientY - start.y)) return;
    content()?.style.setProperty("transform", `translateX(${x / 2}px)`);
    host.dataset.swipe = x > ENOUGH ? "same" : x < -ENOUGH ? "different" : "";
  });
  host.addEventListener("pointerup", (event) => {
    if (!start) return;
    const x = event.clientX - start.x,
      y = event.clientY - start.y;
    const swiped = Math.abs(x) > ENOUGH && Math.abs(x) > 1.5 * Math.abs(y);
    reset();
    if (!swiped) return;
    host.addEventListener("click", (click) => (click.preventDefault(), click.stopPropagation()), {
      capture: true,
      once: true,
    });
    setTimeout(() => host.dispatchEvent(new MouseEvent("click")), 0); // uses that listener up where no click follows the swipe
    answer(x > 0 ? 1 : 0);
  });
  host.addEventListener("pointercancel", reset);
}
