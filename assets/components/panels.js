// The panels beside the phone. Each maker builds its nodes once and returns update(view).

/** Three labelled bars, one a route. Returns show(shares, marks): `marks` are {share, kind} ticks. */
function makeBars(parent) {
  const rows = ROUTES.map((route) => {
    const fill = make('span', { class: 'fill' });
    const track = make('span', { class: 'track', 'aria-hidden': 'true' }, fill);
    const value = make('b', { class: 'share' });
    const name = make('span', { class: 'route-name' }, icon(route.toLowerCase()), make('span', { text: say(`route.${route}`) }));
    const row = make('div', { class: 'row' }, name, track, value);
    row.dataset.route = route;
    parent.append(row);
    return { row, track, fill, value, marks: {} };
  });

  function showMark(entry, kind, share) {
    entry.marks[kind] ??= entry.track.appendChild(make('span', { class: `mark mark-${kind}` }));
    entry.marks[kind].hidden = !isNumber(share);
    if (isNumber(share)) entry.marks[kind].style.setProperty('--at', share);
  }

  return (shares, marks = {}) => {
    const best = Math.max(...shares);
    rows.forEach((entry, i) => {
      entry.fill.style.setProperty('--share', shares[i]);
      setText(entry.value, percent(shares[i]));
      entry.row.classList.toggle('best', shares[i] === best);
      for (const [kind, values] of Object.entries(marks)) showMark(entry, kind, values ? values[i] : null);
    });
  };
}

/** A panel is either its content or one sentence that says when the content will come. */
function makePanel(root, name) {
  const panel = root.querySelector(`[data-panel="${name}"]`);
  return { panel, slot: slots(panel), setEmpty: (empty) => panel.classList.toggle('is-empty', empty) };
}

function makeStudent(root) {
  const { panel, slot, setEmpty } = makePanel(root, 'student');
  const show = makeBars(panel.querySelector('.bars'));
  return (view) => {
    const decision = view.decision;
    setEmpty(!(decision && decision.student));
    if (!decision || !decision.student) return;
    show(decision.student);
    setText(slot.subject, view.card ? view.card.title : say('panel.student.last'));
    const best = ROUTES[decision.student.indexOf(Math.max(...decision.student))];
    setText(slot.foot, say('panel.student.best', { route: say(`route.${best}`), share: percent(Math.max(...decision.student)) }));
  };
}

function makeTeacher(root) {
  const { panel, slot, setEmpty } = makePanel(root, 'teacher');
  const show = makeBars(panel.querySelector('.bars'));
  return ({ lesson }) => {
    setEmpty(!lesson);
    if (!lesson) return;
    show(lesson.teacher, { sealed: lesson.sealed });
    setText(slot.subject, say('lesson.subject', { number: lesson.number, title: isolate(lesson.notification_title) }));
    setText(slot.foot, lesson.outcome_text);
  };
}

function makeTarget(root) {
  const { panel, slot, setEmpty } = makePanel(root, 'target');
  const show = makeBars(panel.querySelector('.bars'));
  return ({ lesson }) => {
    setEmpty(!lesson);
    if (!lesson) return;
    show(lesson.target, { before: lesson.before, after: lesson.after });
    setText(slot.subject, say(`group.${lesson.group}`));
    const route = lesson.target.indexOf(Math.max(...lesson.target));
    const key = lesson.after ? 'panel.target.moved' : 'panel.target.later';
    setText(slot.foot, say(key, {
      route: say(`route.${ROUTES[route]}`),
      before: percent(lesson.before && lesson.before[route]),
      after: percent(lesson.after && lesson.after[route]),
    }));
    slot.formula.hidden = !lesson.formula;
    setText(slot.formula, lesson.formula);
  };
}

const PARTS = ['epsilon', 'probe', 'guard'];

/** The behaviour as one bar of 100%, then the part of it that is exploration, by reason. */
function makeExploration(root) {
  const { slot, setEmpty } = makePanel(root, 'exploration');
  const shares = ROUTES.map((route) => {
    const part = slot.stack.appendChild(make('span', { class: 'stack-part' }));
    const value = make('b');
    const label = slot.shares.appendChild(make('span', { class: 'route-name' }, icon(route.toLowerCase()), make('span', { class: 'unseen', text: say(`route.${route}`) }), value));
    part.dataset.route = route;
    label.dataset.route = route;
    return { part, value };
  });
  const rows = PARTS.map((name) => {
    const fill = make('span', { class: 'fill' });
    const value = make('b', { class: 'share' });
    const row = make('div', { class: 'row', title: say(`mass.${name}.why`) }, make('span', { text: say(`mass.${name}`) }), make('span', { class: 'track', 'aria-hidden': 'true' }, fill), value);
    row.dataset.part = name;
    slot.mass.append(row);
    return { name, fill, value };
  });

  return ({ decision }) => {
    setEmpty(!(decision && decision.behaviour));
    if (!decision || !decision.behaviour) return;
    shares.forEach(({ part, value }, i) => {
      part.style.setProperty('--share', decision.behaviour[i]);
      setText(value, percent(decision.behaviour[i]));
    });
    showRoute(slot['drawn-route'], decision.route);
    setText(slot['drawn-by'], say(`drawn.${decision.drawn_by}`));
    const mass = decision.mass || {};
    setText(slot['mass-total'], percent(mass.total));
    // Scaled to the largest mass worth seeing, so that 2% is still a visible bar.
    const scale = Math.max(0.2, mass.total || 0);
    for (const { name, fill, value } of rows) {
      fill.style.setProperty('--share', (mass[name] || 0) / scale);
      setText(value, percent(mass[name] || 0));
    }
    const silent = decision.silent_for || 0;
    setText(slot.silent, silent > 1 ? say('panel.exploration.silent', { count: silent }) : '');
  };
}

function makeMetrics(root) {
  const slot = slots(root);
  return ({ metrics, adapter }) => {
    const got = metrics || {};
    setText(slot.accuracy, percent(got.accuracy));
    setText(slot.regret, decimal(got.regret, 1));
    setText(slot.reward, decimal(got.reward, 1));
    setText(slot.lessons, whole(got.lessons));
    setText(slot['lessons-note'], isNumber(got.decisions) ? say('metrics.lessons.note', { decisions: whole(got.decisions) }) : '');
    setText(slot.adapter, adapter ? decimal(adapter.distance, 3) : say('number.none'));
    setText(slot['adapter-note'], adapter ? say('adapter.note', { parameters: whole(adapter.parameters), updates: whole(adapter.updates) }) : say('adapter.empty'));
  };
}

const LEDGER_ICONS = { lesson: 'lesson', censored: 'censored', ambiguous: 'ambiguous', correction: 'correction', info: 'info' };

function makeLedger(root) {
  const { slot, setEmpty } = makePanel(root, 'ledger');
  const create = (entry) => make('li', { class: `entry entry-${LEDGER_ICONS[entry.kind] || 'info'}` },
    make('span', { class: 'entry-kind' }, icon(LEDGER_ICONS[entry.kind] || 'info'), make('span', { text: say(`ledger.${entry.kind}`) })),
    make('p', {}, make('b'), make('span', { dir: 'auto' })));
  return ({ ledger }) => {
    const entries = ledger || [];
    setEmpty(entries.length === 0);
    syncList(slot.ledger, entries, (entry) => entry.seq, create, (node, entry) => {
      const [title, text] = node.lastChild.children;
      setText(title, entry.title ? `${isolate(entry.title)}: ` : '');
      setText(text, entry.text);
    });
  };
}
