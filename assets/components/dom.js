// Shared by every screen: words, elements, lists that keep their nodes, numbers.
// Text from outside (notification titles above all) goes through textContent only.

const ROUTES = ['INTERRUPT', 'LATER', 'ARCHIVE'];

/** The words for `key` with each {name} filled in; the key itself if a translation is missing. */
function say(key, values = {}) {
  const words = (props.strings && props.strings[key]) || key;
  return words.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? String(values[name]) : whole));
}

function hasWords(key) {
  return Boolean(props.strings && props.strings[key]);
}

/** Foreign text inside a sentence: its writing direction ends where it ends. */
const isolate = (text) => `\u2068${text ?? ''}\u2069`;

/** Changes a text only if it differs, so that screen readers and selections are left alone. */
function setText(node, text) {
  const wanted = text === null || text === undefined ? '' : String(text);
  if (node.textContent !== wanted) node.textContent = wanted;
}

function setAttribute(node, name, value) {
  if (node.getAttribute(name) !== String(value)) node.setAttribute(name, String(value));
}

/** A new element; `options`: class, text, testid, dir, plus any attribute by its own name. */
function make(tag, options = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(options)) {
    if (name === 'text') node.textContent = value;
    else if (name === 'testid') node.dataset.testid = value;
    else node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

function icon(name) {
  return make('i', { class: `icon icon-${name}`, 'aria-hidden': 'true' });
}

/** Fills the skeleton: data-text with words, data-aria with an accessible name. */
function fillWords(root) {
  for (const node of root.querySelectorAll('[data-text]')) setText(node, say(node.dataset.text));
  for (const node of root.querySelectorAll('[data-aria]')) setAttribute(node, 'aria-label', say(node.dataset.aria));
}

/** The elements marked data-slot under `root`, by name; the outermost of a name wins. */
function slots(root) {
  const found = {};
  for (const node of root.querySelectorAll('[data-slot]')) found[node.dataset.slot] ??= node;
  return found;
}

/**
 * Makes the children of `parent` match `items` by key. A node that stays is never moved or rebuilt,
 * so it keeps its focus and its scroll position.
 */
function syncList(parent, items, keyOf, create, update) {
  const wanted = new Set(items.map((item) => String(keyOf(item))));
  for (const node of [...parent.children]) if (!wanted.has(node.dataset.key)) node.remove();
  const kept = new Map([...parent.children].map((node) => [node.dataset.key, node]));
  let cursor = parent.firstElementChild;
  for (const item of items) {
    const key = String(keyOf(item));
    let node = kept.get(key);
    if (!node) {
      node = create(item);
      node.dataset.key = key;
    }
    if (node === cursor) cursor = cursor.nextElementSibling;
    else parent.insertBefore(node, cursor);
    update(node, item);
  }
}

/** A chip that names a route by icon, colour and word. */
function showRoute(node, route) {
  node.hidden = !route;
  if (!route || node.dataset.route === route) return;
  node.dataset.route = route;
  node.replaceChildren(icon(route.toLowerCase()), make('span', { text: say(`route.${route}`) }));
}

const language = () => (hasWords('locale') ? say('locale') : 'en');
const isNumber = (value) => typeof value === 'number' && Number.isFinite(value);

/** 0.4567 as 46%; small shares keep a digit, because 0.4% is not nothing. */
function percent(share) {
  if (!isNumber(share)) return say('number.none');
  const digits = share > 0 && share < 0.0995 ? 1 : 0;
  return share.toLocaleString(language(), { style: 'percent', minimumFractionDigits: digits, maximumFractionDigits: digits });
}

function decimal(value, digits = 2) {
  if (!isNumber(value)) return say('number.none');
  return value.toLocaleString(language(), { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

const whole = (value) => decimal(value, 0);

/** Fills a real table from {columns, rows}: the twin of a picture, for those who cannot see it. */
function fillTable(table, columns, rows) {
  const headings = columns.map((column) => make('th', { scope: 'col', text: column }));
  const lines = rows.map((row) => make('tr', {}, ...row.map((cell) => make('td', { text: cell ?? '', dir: 'auto' }))));
  table.replaceChildren(make('thead', {}, make('tr', {}, ...headings)), make('tbody', {}, ...lines));
}

/** A table costs nothing while closed: `rows` is called when the reader opens it, and on updates while open. */
function lazyTable(details, columns, rows) {
  const fill = () => {
    if (details.open) fillTable(details.querySelector('table'), columns(), rows());
  };
  details.addEventListener('toggle', fill);
  return fill;
}
