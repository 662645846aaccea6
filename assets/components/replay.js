// The replay memory: one small cell a lesson, newest first, and a table of the same rows.

/** A cell stacks the target's three shares; a ring marks the rows of the last batch. */
function makeReplay(root) {
  const { panel, slot, setEmpty } = makePanel(root, 'replay');
  let rows = [];
  let chosen = null; // the lesson whose details are shown

  const describe = (row) => say('replay.row', {
    lesson: row.lesson, title: isolate(row.title), group: say(`group.${row.group}`), age: row.age, chance: percent(row.chance),
    used: say(row.in_last_batch ? 'replay.used' : 'replay.unused'),
  });

  const fillTwin = lazyTable(panel.querySelector('.twin'),
    () => ['lesson', 'title', ...ROUTES, 'group', 'age', 'chance', 'batch'].map((name) => (ROUTES.includes(name) ? say(`route.${name}`) : say(`replay.column.${name}`))),
    () => rows.map((row) => [row.lesson, row.title, ...row.target.map(percent), say(`group.${row.group}`), row.age, percent(row.chance), say(row.in_last_batch ? 'yes' : 'no')]));

  /** Slots that no lesson fills yet, so that the memory is seen to have an end. */
  const vacant = (count) => Array.from({ length: Math.max(0, count) }, (_, i) => ({ lesson: `vacant-${i}`, vacant: true }));

  function create(row) {
    if (row.vacant) return make('div', { class: 'cell vacant', 'aria-hidden': 'true' });
    const parts = ROUTES.map((route) => {
      const part = make('i');
      part.dataset.route = route;
      return part;
    });
    return make('div', { class: 'cell', role: 'option', id: `play-replay-${row.lesson}` }, ...parts);
  }

  function updateCell(cell, row) {
    if (row.vacant) return;
    row.target.forEach((share, i) => cell.children[i].style.setProperty('--share', share));
    cell.dataset.group = row.group;
    cell.classList.toggle('used', Boolean(row.in_last_batch));
    cell.style.setProperty('--chance', row.chance || 0);
    setAttribute(cell, 'aria-label', describe(row));
    setAttribute(cell, 'aria-selected', row.lesson === chosen);
  }

  function choose(lesson) {
    chosen = lesson;
    for (const cell of slot.cells.querySelectorAll('[role=option]')) setAttribute(cell, 'aria-selected', cell.dataset.key === String(lesson));
    setAttribute(slot.cells, 'aria-activedescendant', lesson === null ? '' : `play-replay-${lesson}`);
    const row = rows.find((candidate) => candidate.lesson === lesson);
    setText(slot.inspect, row ? describe(row) : say('replay.inspect'));
  }

  slot.cells.addEventListener('pointerover', (event) => {
    const cell = event.target.closest('[role=option]');
    if (cell) choose(Number(cell.dataset.key));
  });

  slot.cells.addEventListener('keydown', (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step || rows.length === 0) return;
    event.preventDefault();
    const at = rows.findIndex((row) => row.lesson === chosen);
    choose(rows[Math.max(0, Math.min(rows.length - 1, at + step))].lesson);
  });

  return ({ replay }) => {
    rows = (replay && replay.rows) || [];
    setText(slot['replay-size'], replay ? say('replay.size', { size: replay.size, capacity: replay.capacity }) : '');
    setEmpty(rows.length === 0);
    syncList(slot.cells, [...rows, ...vacant(((replay && replay.capacity) || 0) - rows.length)], (row) => row.lesson, create, updateCell);
    choose(rows.some((row) => row.lesson === chosen) ? chosen : null);
    fillTwin();
  };
}
