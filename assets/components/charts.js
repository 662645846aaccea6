// Plotly charts that keep their zoom, and a table for those who cannot see them.
// Plotly is over 4 MB, so it is fetched after the screen is usable and only if there is a figure.

let plotlyLoad = null;

function loadPlotly() {
  plotlyLoad ??= new Promise((resolve, reject) => {
    if (window.Plotly) return resolve(window.Plotly);
    const script = make('script', { src: props.plotly_url, async: '' });
    script.addEventListener('load', () => resolve(window.Plotly));
    script.addEventListener('error', () => {
      plotlyLoad = null; // the next update tries again
      reject(new Error(`cannot load ${props.plotly_url}`));
    });
    document.head.append(script);
  });
  return plotlyLoad;
}

const whenIdle = (task) => (window.requestIdleCallback ? requestIdleCallback(task, { timeout: 1500 }) : setTimeout(task, 300));
const touchScreen = matchMedia('(pointer: coarse)').matches;
const PLOT_CONFIG = { responsive: true, displaylogo: false, displayModeBar: false, scrollZoom: false };

/**
 * Draws figures in the colours of the page. A trace may name its part in `meta.role` ("main",
 * "ghost", "best", or a route) and gets that part's colour in either theme.
 */
function themed(figure, root, session) {
  const style = getComputedStyle(root);
  const colour = (name) => style.getPropertyValue(`--${name}`).trim();
  const axis = (own = {}) => ({ gridcolor: colour('line'), linecolor: colour('line'), zerolinecolor: colour('line'), automargin: true, ...own, title: { standoff: 4, ...own.title, font: { size: 12 } } });
  const given = figure.layout || {};
  const layout = {
    margin: { l: 30, r: 8, t: 4, b: 26 }, hovermode: 'x unified', showlegend: true,
    legend: { orientation: 'h', y: 1, yanchor: 'bottom', x: 0, font: { size: 11 } },
    dragmode: touchScreen ? false : 'zoom',
    ...given,
    template: undefined, // Python's default template would paint a white page under the dark theme
    xaxis: axis(given.xaxis), yaxis: axis(given.yaxis),
    paper_bgcolor: 'rgba(0,0,0,0)', plot_bgcolor: 'rgba(0,0,0,0)',
    font: { size: 12, ...given.font, family: style.fontFamily, color: colour('ink-soft') },
    hoverlabel: { bgcolor: colour('panel'), bordercolor: colour('line'), font: { color: colour('ink') } },
    // The same value keeps the reader's zoom and hidden traces; a new session starts afresh.
    uirevision: session, autosize: true,
  };
  delete layout.title; // the panel's heading is the title
  delete layout.width;
  delete layout.height;
  const data = (figure.data || []).map((trace) => {
    const role = trace.meta && trace.meta.role;
    if (!role || !colour(`chart-${role}`)) return trace;
    return { ...trace, line: { ...trace.line, color: colour(`chart-${role}`) }, marker: { ...trace.marker, color: colour(`chart-${role}`) } };
  });
  return { data, layout };
}

/** One chart panel. Its box has its final size before anything is drawn in it. */
function makeChart(root, panel) {
  const name = panel.dataset.chart;
  const box = panel.querySelector('.chart');
  const drawing = box.appendChild(make('div', { class: 'drawing' }));
  const note = box.appendChild(make('p', { class: 'chart-note', text: say('chart.empty') }));
  let chart = null;
  let session = '';
  let drawn = '';
  let scheduled = false;

  const table = () => (chart && chart.table) || { columns: [], rows: [] };
  const fillTwin = lazyTable(panel.querySelector('.twin'), () => table().columns, () => table().rows);

  async function draw() {
    scheduled = false;
    try {
      await loadPlotly();
    } catch {
      setText(note, say('chart.failed'));
      return;
    }
    if (!chart || !chart.figure) return;
    const wanted = JSON.stringify([chart.figure, session, document.body.className]);
    if (wanted === drawn) return;
    drawn = wanted;
    note.hidden = true;
    const { data, layout } = themed(chart.figure, root, session);
    await window.Plotly.react(drawing, data, layout, PLOT_CONFIG);
  }

  function schedule() {
    if (scheduled || !chart || !chart.figure) return;
    scheduled = true;
    if (window.Plotly) requestAnimationFrame(draw);
    else whenIdle(draw);
  }

  // The theme is a class on body; colours inside a drawing do not follow it by themselves.
  new MutationObserver(schedule).observe(document.body, { attributes: true, attributeFilter: ['class'] });

  // Plotly watches the window only, but a tab or a drawer can change the box as well.
  new ResizeObserver(() => {
    if (drawn && box.offsetWidth) window.Plotly.Plots.resize(drawing);
  }).observe(box);

  function erase() {
    if (drawn) window.Plotly.purge(drawing);
    drawn = '';
    setText(note, say('chart.empty'));
    note.hidden = false;
  }

  return (view) => {
    const now = (view.session && view.session.id) || session;
    // A view without charts leaves them as they are: most updates need not carry every point again.
    if (view.charts === undefined && now === session) return;
    session = now;
    chart = (view.charts && view.charts[name]) || null;
    setAttribute(box, 'aria-label', say(`panel.${name}.label`, { points: table().rows.length }));
    fillTwin();
    if (!chart || !chart.figure) return erase();
    if (!window.Plotly) setText(note, say('chart.loading'));
    schedule();
  };
}
