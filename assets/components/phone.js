// The phone: the arriving card, and how each way of answering it becomes one gesture.

const KEYS = {
  ArrowRight: 'open', Enter: 'open', ArrowLeft: 'delete', Delete: 'delete', Backspace: 'delete',
  ArrowDown: 'later', l: 'later', Escape: 'ignore', i: 'ignore',
};
const SWIPES = { right: 'open', left: 'delete' };
const LEAVE_MS = matchMedia('(prefers-reduced-motion: reduce)').matches ? 0 : 240;

/** What a gesture tells the phone, which is also its colour: the route that the person wanted. */
const PROVES = {
  OPENED_IMMEDIATELY: 'INTERRUPT', OPENED_AFTER_DELAY: 'LATER', DELETED_NOTIFICATION: 'ARCHIVE',
  OPENED_DIGEST: 'LATER', DELETED_FROM_DIGEST: 'ARCHIVE',
  ASKED_TO_SHOW: 'INTERRUPT', OPENED_FROM_SAVED: 'LATER', CONFIRMED_QUIET: 'ARCHIVE',
};

/** A button for one gesture. The same gesture has other words on another surface. */
function gestureButton(gesture, surface, testid, press) {
  const specific = `gesture.${surface}.${gesture.gesture}`;
  const label = say(hasWords(specific) ? specific : `gesture.${gesture.gesture}`);
  const picture = gesture.gesture === 'ignore' && surface !== 'INTERRUPT' ? 'next' : gesture.gesture;
  const button = make('button', { type: 'button', class: 'action', testid }, icon(picture), make('span', { text: label }));
  if (PROVES[gesture.outcome]) button.dataset.proves = PROVES[gesture.outcome];
  if (hasWords(`proves.${gesture.outcome}`)) button.title = say(`proves.${gesture.outcome}`);
  button.addEventListener('click', () => press(gesture));
  return button;
}

/** Rebuilds a row of buttons only if its gestures changed, so that a focused button stays. */
function showGestures(row, gestures, surface, testidOf, press) {
  const wanted = JSON.stringify([surface, gestures]);
  if (row.dataset.gestures === wanted) return;
  row.dataset.gestures = wanted;
  row.replaceChildren(...gestures.map((gesture) => gestureButton(gesture, surface, testidOf(gesture), press)));
}

function setEnabled(row, enabled) {
  for (const button of row.querySelectorAll('button')) button.disabled = !enabled;
}

/** Draws the card and reports each answer once, through `outbox.send`. */
function makePhone(root, outbox) {
  const slot = slots(root);
  const card = slot.card;
  let shown = null; // the card on screen
  let leaving = false;
  let next = null; // the view that arrived while a card was still leaving
  let live = true; // false while autopilot plays

  const gestureNamed = (name) => shown && (shown.gestures || []).find((gesture) => gesture.gesture === name);

  function answer(gesture) {
    if (!gesture || !live || leaving || !outbox.send('card', shown.id, gesture)) return;
    // Disabled buttons lose the focus; the card keeps it until the sentence in its place takes it.
    if (card.contains(document.activeElement)) card.focus({ preventScroll: true });
    setEnabled(slot['card-actions'], false);
    leave(gesture.gesture);
  }

  function leave(how) {
    leaving = true;
    card.dataset.leaving = how;
    setTimeout(() => {
      leaving = false;
      if (next) update(next);
      else clear();
    }, LEAVE_MS);
  }

  makeSwipe(card, {
    allowed: (direction) => live && !leaving && Boolean(gestureNamed(SWIPES[direction])),
    moved: (part) => {
      slot.cardzone.style.setProperty('--pull', Math.max(-1, Math.min(1, part)).toFixed(3));
    },
    done: (direction) => answer(gestureNamed(SWIPES[direction])),
    tapped: () => answer(gestureNamed('open')),
  });

  card.addEventListener('keydown', (event) => {
    // A held key would answer every card that follows; Enter on a button is the button's own.
    if (event.repeat || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target !== card && event.key === 'Enter') return;
    const gesture = gestureNamed(KEYS[event.key]);
    if (!gesture) return;
    event.preventDefault();
    answer(gesture);
  });

  function fill(view) {
    shown = view.card;
    setAttribute(card, 'data-notification-id', shown.id);
    setAttribute(card, 'data-route', shown.route || '');
    setText(slot['card-tile'], [...(shown.category || '?')][0].toUpperCase());
    setText(slot['card-category'], shown.category);
    setText(slot['card-time'], shown.local_time);
    showRoute(slot['card-route'], shown.route);
    setText(slot['card-title'], shown.title);
    setText(slot['card-body'], shown.body);
    setText(slot['card-importance'], isNumber(shown.importance) ? say('card.importance', { share: whole(shown.importance * 100) }) : '');
    slot['card-pips'].style.setProperty('--pips', isNumber(shown.importance) ? shown.importance : 0);
    setText(slot['card-regime'], shown.regime);
    const quiet = `card.quiet.${shown.route}`;
    slot['card-quiet'].hidden = !hasWords(quiet);
    setText(slot['card-quiet'], hasWords(quiet) ? say(quiet) : '');
    setText(slot['card-reason'], shown.reason);
    showGestures(slot['card-actions'], shown.gestures || [], shown.route, (gesture) => gesture.gesture, answer);
    setText(slot['swipe-right'], gestureNamed('open') ? say('gesture.open') : '');
    setText(slot['swipe-left'], gestureNamed('delete') ? say('gesture.delete') : '');
  }

  function arrive(view) {
    const fresh = card.hidden || !shown || shown.id !== view.card.id || card.dataset.leaving;
    fill(view);
    card.hidden = false;
    delete card.dataset.leaving;
    setEnabled(slot['card-actions'], live);
    if (document.activeElement === slot.waiting) card.focus({ preventScroll: true });
    if (!fresh || !live) return; // autopilot is faster than the animation
    slot['card-text'].scrollTop = 0;
    card.classList.remove('arriving');
    void card.offsetWidth; // starts the animation again
    card.classList.add('arriving');
  }

  /** Hides the card; the keyboard's focus waits in its place for the next one. */
  function clear() {
    if (card.contains(document.activeElement)) slot.waiting.focus({ preventScroll: true });
    card.hidden = true;
  }

  /** The sentence where the card would be: never an empty phone. */
  function waitingText(view) {
    const kind = view.session && view.session.finished ? 'ended' : (view.state && view.state.kind) || 'loading';
    setText(slot['waiting-text'], say(`phone.waiting.${kind === 'ready' ? 'deciding' : kind}`));
    setAttribute(slot.waiting, 'data-kind', kind);
  }

  function update(view) {
    next = leaving ? view : null;
    if (leaving) return;
    live = !(view.state && view.state.kind === 'autopilot') && !(view.autopilot && view.autopilot.running);
    waitingText(view);
    if (view.card && !outbox.isWaiting('card', view.card.id)) arrive(view);
    else clear();
  }

  return { update, showClock: (clock) => showClock(slot, clock) };
}

function showClock(slot, clock) {
  const time = (clock && clock.label) || say('clock.none');
  setText(slot.clock, time);
  setText(slot['small-clock'], time);
  setText(slot.elapsed, clock ? say('clock.elapsed', { day: clock.day, elapsed: clock.elapsed }) : say('clock.waiting'));
}
