// A card that follows the finger or the mouse, and decides when it is let go.

const SLOP = 8; // px a pointer may wander and still be a tap
const FLING = 0.6; // px per ms that counts as a throw
const TAP_MS = 600;

/**
 * Makes `card` swipeable. `allowed(direction)` says whether "right" or "left" means anything now;
 * `done(direction)` is called once for a swipe past the threshold, `tapped()` for a tap.
 */
function makeSwipe(card, { allowed, moved, done, tapped }) {
  let start = null;

  const shift = (event) => event.clientX - start.x;

  function place(distance) {
    card.style.setProperty('--shift', `${distance}px`);
    card.style.setProperty('--tilt', `${distance / 40}deg`);
    moved(distance / threshold());
  }

  const threshold = () => Math.min(140, card.offsetWidth * 0.35);

  function letGo() {
    card.classList.remove('dragged');
    if (start && card.hasPointerCapture(start.pointer)) card.releasePointerCapture(start.pointer);
    start = null;
    place(0);
  }

  card.addEventListener('pointerdown', (event) => {
    if (event.button !== 0 || !event.isPrimary || event.target.closest('button')) return;
    start = { x: event.clientX, y: event.clientY, time: event.timeStamp, pointer: event.pointerId, dragging: false };
  });

  card.addEventListener('pointermove', (event) => {
    if (!start || event.pointerId !== start.pointer) return;
    if (!start.dragging) {
      if (Math.abs(shift(event)) < SLOP) return;
      start.dragging = true;
      card.setPointerCapture(event.pointerId);
      card.classList.add('dragged');
    }
    const direction = shift(event) > 0 ? 'right' : 'left';
    // A direction that means nothing resists instead of following.
    place(allowed(direction) ? shift(event) : shift(event) / 6);
  });

  card.addEventListener('pointerup', (event) => {
    if (!start || event.pointerId !== start.pointer) return;
    const distance = shift(event);
    const spent = event.timeStamp - start.time;
    const still = Math.abs(distance) < SLOP && Math.abs(event.clientY - start.y) < SLOP;
    const dragging = start.dragging;
    const far = Math.abs(distance) > threshold() || (Math.abs(distance) > 40 && Math.abs(distance) / spent > FLING);
    const direction = distance > 0 ? 'right' : 'left';
    letGo();
    if (dragging && far && allowed(direction)) done(direction);
    else if (!dragging && still && spent < TAP_MS) tapped();
  });

  card.addEventListener('pointercancel', letGo);
}
