// The three drawers of the phone: digest, Saved, and callbacks that have not yet matured.

/** Builds the drawers; at most one is open, and it opens into space that the phone keeps free. */
function makeDrawers(root, outbox) {
  const drawers = {};
  for (const section of root.querySelectorAll('[data-drawer]')) {
    drawers[section.dataset.drawer] = {
      section,
      toggle: section.querySelector('.drawer-toggle'),
      count: section.querySelector('.count'),
      panel: section.querySelector('.drawer-panel'),
      list: section.querySelector('ul'),
      empty: section.querySelector('.empty'),
    };
  }
  let closedByHand = false;
  let lastCard = null;

  const isOpen = (drawer) => drawer.toggle.getAttribute('aria-expanded') === 'true';

  function setOpen(drawer, open) {
    for (const other of Object.values(drawers)) {
      const state = other === drawer ? open : false;
      setAttribute(other.toggle, 'aria-expanded', state);
      other.panel.hidden = !state;
    }
  }

  for (const drawer of Object.values(drawers)) {
    drawer.toggle.addEventListener('click', () => {
      closedByHand = isOpen(drawer);
      setOpen(drawer, !isOpen(drawer));
    });
  }

  /** An answered item leaves at once; the focus goes to the one that takes its place. */
  function press(drawer, row, id, gesture) {
    if (!outbox.send('item', id, gesture)) return;
    const focused = row.contains(document.activeElement);
    row.dataset.leaving = 'true';
    setEnabled(row, false);
    const following = row.nextElementSibling || row.previousElementSibling;
    const target = (following && following.querySelector('button:not(:disabled)')) || drawer.toggle;
    if (focused) target.focus({ preventScroll: true });
  }

  function createItem() {
    return make('li', { class: 'item' },
      make('div', { class: 'item-text' },
        make('b', { class: 'item-title', dir: 'auto' }),
        make('p', { class: 'item-body', dir: 'auto' }),
        make('p', { class: 'item-meta', dir: 'auto' })),
      make('div', { class: 'item-actions' }));
  }

  function updateItem(kind, row, item, highlighted) {
    const [text, actions] = row.children;
    setAttribute(row, 'data-notification-id', item.id);
    setText(text.children[0], item.title);
    setText(text.children[1], item.body);
    const closes = item.closes_in ? say('digest.closes', { time: item.closes_in }) : '';
    setText(text.children[2], [item.category, item.local_time, closes].filter(Boolean).join(' · '));
    const testid = (gesture) => (kind === 'digest' ? `digest-${gesture.gesture}` : gesture.gesture);
    showGestures(actions, item.gestures || [], kind, testid, (gesture) => press(drawers[kind], row, item.id, gesture));
    const waiting = outbox.isWaiting('item', item.id);
    setEnabled(actions, !waiting);
    if (waiting) row.dataset.leaving = 'true';
    else delete row.dataset.leaving;
    row.classList.toggle('highlighted', highlighted);
  }

  function updatePending(row, item) {
    const [text] = row.children;
    setText(text.children[0], item.title);
    setText(text.children[1], item.what);
    setText(text.children[2], say('pending.due', { time: item.due_in }));
  }

  function showCount(drawer, number) {
    setText(drawer.count, number);
    setAttribute(drawer.count, 'data-empty', number === 0);
    drawer.empty.hidden = number > 0;
  }

  /** A card kept for the digest is shown landing there, unless the player prefers the drawer closed. */
  function welcome(card) {
    const arrived = card && card.id !== lastCard;
    lastCard = card ? card.id : lastCard;
    if (!arrived || card.route !== 'LATER') return;
    if (!Object.values(drawers).some(isOpen) && !closedByHand) setOpen(drawers.digest, true);
    if (isOpen(drawers.digest)) drawers.digest.panel.scrollTop = 0;
  }

  function update(view) {
    const current = view.card ? view.card.id : null;
    for (const kind of ['digest', 'saved']) {
      const items = view[kind] || [];
      syncList(drawers[kind].list, items, (item) => item.id, createItem, (row, item) => updateItem(kind, row, item, item.id === current));
      showCount(drawers[kind], items.length);
    }
    const pending = view.pending || [];
    syncList(drawers.pending.list, pending, (item) => `${item.id} ${item.what}`, createItem, updatePending);
    showCount(drawers.pending, pending.length);
    welcome(view.card);
  }

  return { update };
}
