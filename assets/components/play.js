// The play screen: takes each view model, gives it to the parts, and sends the person's gestures.
// Needs dom.js, charts.js, swipe.js, phone.js, drawers.js, panels.js and replay.js before it.

const ANSWER_MS = 25000; // a gesture unanswered for this long is offered again

/**
 * Remembers which gestures are on their way, so that a double click is one gesture and an answered
 * card stays away until Python has taken it. A card and a drawer item of one notification are two
 * places: leaving a card for the digest does not take it out of the digest.
 */
function makeOutbox(deliver, restore) {
  const waiting = new Map();
  const place = (where, id) => `${where} ${id}`;

  function release(key) {
    clearTimeout(waiting.get(key));
    waiting.delete(key);
  }

  function hold(key) {
    waiting.set(key, setTimeout(() => {
      release(key);
      restore(say('problem.silence'));
    }, ANSWER_MS));
  }

  function send(where, id, gesture) {
    if (waiting.has(place(where, id))) return false;
    hold(place(where, id));
    const other = place(where === 'card' ? 'item' : 'card', id);
    if (gesture.gesture !== 'ignore' && !waiting.has(other)) hold(other);
    deliver({ notification_id: id, outcome: gesture.outcome }, where);
    return true;
  }

  /** A refusal gives every card back; otherwise what the new view no longer shows is settled. */
  function settle(view) {
    const there = new Set([...(view.digest || []), ...(view.saved || [])].map((item) => place('item', item.id)));
    if (view.card) there.add(place('card', view.card.id));
    const refused = view.state && view.state.kind === 'problem';
    for (const key of [...waiting.keys()]) if (refused || !there.has(key)) release(key);
  }

  return { send, settle, isWaiting: (where, id) => waiting.has(place(where, id)) };
}

/** Who plays, from which seed; kept as the person left it until another session begins. */
function makeSession(root) {
  const slot = slots(root);
  let session = null;

  slot.reset.addEventListener('click', () => {
    showState({ kind: 'loading', text: say('state.loading') });
    trigger('reset', { persona: slot.persona.value, seed: Math.max(0, Math.trunc(Number(slot.seed.value) || 0)) });
  });

  function showState(state) {
    setAttribute(slot.state, 'data-kind', state.kind);
    setText(slot['state-text'], state.text || say(`state.${state.kind}`));
    slot['state-progress'].hidden = !isNumber(state.progress);
    if (isNumber(state.progress)) slot['state-progress'].value = state.progress;
  }

  function showPersonas(personas, chosen, fresh) {
    syncList(slot.persona, personas, (persona) => persona.id, (persona) => make('option', { value: persona.id }), (node, persona) => setText(node, persona.name));
    if (fresh && chosen) slot.persona.value = chosen;
  }

  function update(view) {
    showState(view.state || { kind: 'loading' });
    const now = view.session || {};
    const fresh = now.id !== session;
    session = now.id;
    const personas = view.personas || [];
    const current = personas.find((persona) => persona.id === now.persona);
    showPersonas(personas, now.persona, fresh);
    if (fresh && isNumber(now.seed)) slot.seed.value = now.seed;
    setText(slot.model, now.model);
    setText(slot.decisions, isNumber(now.length) ? say('session.decisions', { done: whole(now.decisions), of: whole(now.length) }) : '');
    setText(slot['persona-name'], current ? current.name : now.persona);
    setText(slot.briefing, now.briefing || say('briefing.empty'));
  }

  return { update, showState };
}

function makeAutopilot(root, showState) {
  const slot = slots(root);

  slot.autopilot.addEventListener('click', () => {
    const asked = Math.trunc(Number(slot['autopilot-count'].value) || 0);
    const events = Math.max(1, Math.min(240, asked));
    slot['autopilot-count'].value = events;
    slot.autopilot.disabled = true;
    showState({ kind: 'autopilot', text: say('autopilot.starting') });
    trigger('autopilot', { events });
  });

  slot['autopilot-stop'].addEventListener('click', () => {
    slot['autopilot-stop'].disabled = true;
    setText(slot['autopilot-text'], say('autopilot.stopping'));
    trigger('stop', {});
  });

  return ({ autopilot, session }) => {
    const run = autopilot || { running: false, done: 0, of: 0 };
    slot.autopilot.disabled = run.running || !session || Boolean(session.finished);
    slot['autopilot-stop'].disabled = !run.running;
    slot['autopilot-progress'].value = run.of ? run.done / run.of : 0;
    setText(slot['autopilot-text'], run.of ? say('autopilot.done', { done: run.done, of: run.of }) : say('autopilot.about'));
  };
}

/** One spoken sentence a lesson; the panels themselves are silent. */
function makeAnnouncer(root) {
  const slot = slots(root);
  let told = null;
  return ({ lesson, session }) => {
    const key = lesson && `${session && session.id} ${lesson.number} ${Boolean(lesson.after)}`;
    if (!key || key === told) return;
    told = key;
    const route = lesson.target.indexOf(Math.max(...lesson.target));
    setText(slot.live, say(lesson.after ? 'live.learned' : 'live.lesson', {
      number: lesson.number, title: isolate(lesson.notification_title), what: lesson.outcome_text, route: say(`route.${ROUTES[route]}`),
      before: percent(lesson.before && lesson.before[route]), after: percent(lesson.after && lesson.after[route]),
    }));
  };
}

/** Refuses a view that was overtaken by a newer one, or that belongs to an abandoned session. */
function makeGate() {
  const left = new Set();
  let session = null;
  let revision = -Infinity;
  return (view) => {
    const id = (view.session && view.session.id) || session; // a bare problem belongs to this one
    if (left.has(id)) return false;
    if (id !== session) {
      if (session !== null) left.add(session);
      session = id;
      revision = -Infinity;
    }
    if (isNumber(view.revision) && view.revision < revision) return false;
    if (isNumber(view.revision)) revision = view.revision;
    return true;
  };
}

function startPlay(root) {
  fillWords(root);
  let last = null;
  const session = makeSession(root);
  const outbox = makeOutbox(
    (gesture, where) => {
      session.showState({ kind: 'deciding', text: say('state.sent') });
      trigger('gesture', { ...gesture, session: last.session && last.session.id, revision: last.revision });
      // Answered in one place: the other place of the same notification closes too.
      if (where === 'item') phone.update(last);
      else drawers.update(last);
    },
    (sentence) => {
      if (last) draw({ ...last, state: { kind: 'problem', text: sentence } });
    },
  );
  const phone = makePhone(root, outbox);
  const drawers = makeDrawers(root, outbox);
  const parts = [
    session.update,
    (view) => phone.showClock(view.clock),
    phone.update,
    drawers.update,
    makeAutopilot(root, session.showState),
    makeMetrics(root), makeStudent(root), makeTeacher(root), makeTarget(root), makeExploration(root),
    makeReplay(root), makeLedger(root), makeAnnouncer(root),
    ...[...root.querySelectorAll('[data-chart]')].map((panel) => makeChart(root, panel)),
  ];
  const isNews = makeGate();

  function draw(view) {
    outbox.settle(view);
    for (const part of parts) part(view);
  }

  function receive(view) {
    if (!isNews(view)) return;
    // A problem without a session is a refusal: everything else on the screen is still true.
    const refusal = !view.session && last && view.state && view.state.kind === 'problem';
    last = refusal ? { ...last, ...view } : view;
    draw(last);
  }

  window.addEventListener('sdft:view:play', (event) => receive(event.detail));
  receive((window.sdftViews && window.sdftViews.play) || { state: { kind: 'loading' } });
}

startPlay(element.querySelector('[data-play]'));
