// Draws a dashboard from the answers of a real Prometheus, for dashboards/README.md. The tests don't install Grafana: this script
// draws the charts on Grafana's grid. Data, texts and value formats are Grafana's; the appearance is not.
//
// Grafana's code formats the values. It is 130 MB with its dependencies, so the packages of the tests don't include it:
//   npm install --no-save --legacy-peer-deps @grafana/data@13 react@18 react-dom@18 rxjs@7 esbuild
import path from 'node:path';
import { chromium } from 'playwright-core';

/** Bundles Grafana's value formats for the browser that draws. */
async function grafanaFormats() {
  const { build } = await import('esbuild');
  const contents = "export { getValueFormat, formattedValueToString } from '@grafana/data'";
  const { outputFiles: [bundle] } = await build({ stdin: { contents, resolveDir: import.meta.dirname }, bundle: true, write: false, format: 'iife', globalName: 'grafana', platform: 'browser', define: { 'process.env.NODE_ENV': '"production"' }, logLevel: 'error' });
  return bundle.text;
}

/** Returns an element whose value the page formats. */
const valueElement = (value, unit = 'none', tag = 'span', attributes = '') => `<${tag} data-unit="${escape(unit)}" data-value="${value}" ${attributes}></${tag}>`;

const COLOURS = ['#2f7ed8', '#3d9a50', '#d9822b', '#c23b3b', '#7e57c2', '#0097a7', '#8d6e63', '#5c6bc0', '#9e9d24', '#ad1457'];
/** Grafana's names of colours. */
const NAMED = { green: '#3d9a50', orange: '#d9822b', red: '#c23b3b', yellow: '#d9b310', blue: '#2f7ed8', purple: '#7e57c2', text: '#9aa1ab' };
const [COLUMN, ROW] = [52, 28];
/** Height of the time axis below a chart, in pixels. */
const TIME_AXIS_HEIGHT = 16;
const escape = (text) => String(text).replaceAll('&', '&amp;').replaceAll('<', '&lt;');

const legend = (target, metric) => target.legendFormat.replaceAll(/\{\{\s*(\w+)\s*\}\}/g, (_, label) => metric[label] ?? '');

/** Left edge of the time axis of lines. */
const LINES_LEFT = 72;

/** Lines and texts of the time axis, and a mark at the start of each event. */
function timeAxis(left, width, height, { start, end, events }) {
  const x = (at) => left + ((at - start) / (end - start)) * (width - left - 10);
  const bottom = height - 8 - TIME_AXIS_HEIGHT;
  const marks = [];
  for (let at = Math.ceil(start / 300) * 300; at <= end; at += 300) {
    marks.push(`<line x1="${x(at)}" x2="${x(at)}" y1="6" y2="${bottom}" stroke="#eef0f2"/><text x="${x(at)}" y="${height - 4}" text-anchor="middle">${new Date(at * 1000).toISOString().slice(11, 16)}</text>`);
  }
  const shown = events.map(({ from, colour, name }) => `<line x1="${x(from)}" x2="${x(from)}" y1="6" y2="${bottom}" stroke="${colour}" stroke-dasharray="3 2"><title>${escape(name)}</title></line><polygon points="${x(from) - 4},${bottom + 6} ${x(from) + 4},${bottom + 6} ${x(from)},${bottom}" fill="${colour}"/>`);
  return { x, marks: [...marks, ...shown].join('') };
}

/** One bar for each series, in the colours of its values. */
function timeline(panel, series, width, height, range) {
  // A character is about 6 pixels wide.
  const left = 16 + 6 * Math.max(...series.map(({ name }) => name.length));
  const { x, marks } = timeAxis(left, width, height, range);
  const options = panel.fieldConfig.defaults.mappings[0].options;
  const tall = Math.min(24, (height - 14 - TIME_AXIS_HEIGHT) / series.length);
  const bars = series.map(({ name, values }, row) => {
    const y = 6 + row * tall;
    const pieces = values.map(([at, value], index) => `<rect x="${x(at)}" y="${y + 2}" width="${Math.max(1, x(values[index + 1]?.[0] ?? at) - x(at) + 0.5)}" height="${tall - 4}" fill="${NAMED[options[value].color]}"/>`);
    return `${pieces.join('')}<text x="${left - 4}" y="${y + tall / 2 + 4}" text-anchor="end">${escape(name)}</text>`;
  });
  const names = Object.values(options).map(({ text, color }) => `<span><i style="background:${NAMED[color]}"></i>${escape(text)}</span>`);
  return `<svg width="${width}" height="${height}">${bars.join('')}${marks}</svg><div class="legend">${names.join('')}</div>`;
}

function lines(panel, series, width, height, range) {
  const { unit, min, max, custom } = panel.fieldConfig.defaults;
  const stacked = custom?.stacking?.mode === 'normal';
  const under = new Map();
  const shapes = series.slice(0, 14).map(({ name, values }) => ({
    name,
    points: values.filter(([, value]) => Number.isFinite(value)).map(([at, value]) => {
      const from = stacked ? under.get(at) ?? 0 : 0;
      if (stacked) under.set(at, from + value);
      return [at, from + value, from];
    }),
  }));
  const all = shapes.flatMap(({ points }) => points.map(([, value]) => value));
  const low = min ?? Math.min(...all);
  const most = Math.max(...all);
  const top = max ?? (most > low ? most : low + 1);
  const { x, marks } = timeAxis(LINES_LEFT, width, height, range);
  const y = (value) => 6 + (1 - (value - low) / (top - low || 1)) * (height - 14 - TIME_AXIS_HEIGHT);
  const ticks = [0, 0.5, 1].map((share) => low + (top - low) * share);
  const grid = ticks.map((tick) => `<line x1="${LINES_LEFT}" x2="${width - 8}" y1="${y(tick)}" y2="${y(tick)}" stroke="#e3e6ea"/>${valueElement(tick, unit, 'text', `x="68" y="${y(tick) + 4}" text-anchor="end"`)}`);
  const overrides = panel.fieldConfig.overrides.map(({ matcher, properties }) => [new RegExp(matcher.options.slice(1, -1)), properties[0].value.fixedColor]);
  const colourOf = (name, index) => NAMED[overrides.find(([pattern]) => pattern.test(name))?.[1]] ?? COLOURS[index % COLOURS.length];
  const drawn = shapes.map(({ name, points }, index) => {
    const colour = colourOf(name, index);
    const line = points.map(([at, value]) => `${x(at).toFixed(1)},${y(value).toFixed(1)}`);
    const back = points.map(([at, , from]) => `${x(at).toFixed(1)},${y(from).toFixed(1)}`).reverse();
    return `${stacked ? `<polygon points="${[...line, ...back].join(' ')}" fill="${colour}" opacity=".25"/>` : ''}<polyline points="${line.join(' ')}" fill="none" stroke="${colour}" stroke-width="1.5"/>`;
  });
  const names = series.slice(0, 8).map(({ name }, index) => `<span><i style="background:${colourOf(name, index)}"></i>${escape(name)}</span>`);
  if (series.length > 8) names.push(`<span>and ${series.length - 8} more</span>`);
  return `<svg width="${width}" height="${height}">${grid.join('')}${marks}${drawn.join('')}</svg><div class="legend">${names.join('')}</div>`;
}

const colourAt = ({ steps }, value) => steps.filter((step) => step.value === null || value >= step.value).at(-1)?.color ?? 'green';

/** Returns the text that a panel maps a value to, such as "up" for 1. */
function mappedText(panel, value) {
  const { mappings = [], thresholds } = panel.fieldConfig.defaults;
  const found = mappings.flatMap(({ options }) => Object.entries(options ?? {})).find(([from]) => Number(from) === value)?.[1];
  const colour = found?.color ?? colourAt(thresholds, value);
  return found && `<b class="${colour}">${escape(found.text)}</b>`;
}

/** Returns the rows of a table by their legends, with the texts of their values if it has them. */
const rows = (panel, series) => (series.length === 0
  ? `<p>${escape(panel.fieldConfig.defaults.noValue)}</p>`
  : `<ul>${series.map(({ name, values }) => `<li>${escape(name)} ${mappedText(panel, values.at(-1)[1]) ?? ''}</li>`).join('')}</ul>`);

function numbers(panel, series) {
  const { unit, noValue, thresholds } = panel.fieldConfig.defaults;
  const own = (name) => panel.fieldConfig.overrides.find(({ matcher }) => matcher.options === name)?.properties[0].value;
  if (series.length === 0) return `<div class="stats"><b>${escape(noValue ?? 'no data')}</b></div>`;
  return `<div class="stats">${series.map(({ name, values }) => `<div>${mappedText(panel, values.at(-1)[1]) ?? valueElement(values.at(-1)[1], unit, 'b', `class="${colourAt(own(name) ?? thresholds, values.at(-1)[1])}"`)}<small>${escape(name)}</small></div>`).join('')}</div>`;
}

function bars(panel, series) {
  const most = Math.max(...series.map(({ values }) => values.at(-1)[1]), 1);
  return series.map(({ name, values }) => {
    const value = values.at(-1)[1];
    return `<div class="bar"><small>${escape(name)}</small><span style="width:${(60 * value) / most}%"></span>${valueElement(value, panel.fieldConfig.defaults.unit, 'em')}</div>`;
  }).join('');
}

/** Returns the first moment of each event that the dashboard marks. */
async function eventsOf(dashboard, { ask, filled, start, end }) {
  const found = await Promise.all(dashboard.annotations.list.map(async ({ expr, iconColor, titleFormat }) => {
    const { result } = await ask('query_range', { query: filled(expr), start, end, step: 15 });
    return result.flatMap(({ metric, values }) => values
      .filter(([at], index) => at - (values[index - 1]?.[0] ?? -Infinity) > 15)
      .map(([from]) => ({ from, colour: NAMED[iconColor], name: legend({ legendFormat: titleFormat }, metric) })));
  }));
  return found.flat();
}

/** Types of panels that show a range of time. */
const OVER_TIME = ['timeseries', 'state-timeline'];

export async function drawDashboard(dashboard, { ask, filled, start, end, folder }) {
  const range = { start, end, events: await eventsOf(dashboard, { ask, filled, start, end }) };
  const cells = [];
  for (const panel of dashboard.panels) {
    const { x, y, w, h } = panel.gridPos;
    const place = `left:${x * COLUMN}px;top:${y * ROW}px;width:${w * COLUMN - 8}px;height:${h * ROW - 8}px`;
    if (panel.type === 'row') {
      cells.push(`<h2 style="${place}">${escape(panel.title)}</h2>`);
      continue;
    }
    const series = [];
    for (const target of panel.targets) {
      const { result } = await ask(OVER_TIME.includes(panel.type) ? 'query_range' : 'query', { query: filled(target.expr), time: end, start, end, step: 15 });
      for (const { metric, values, value } of result) {
        series.push({ name: legend(target, metric), values: (values ?? [value]).map(([at, number]) => [at, Number(number)]) });
      }
    }
    const [width, height] = [w * COLUMN - 24, h * ROW - 80];
    const charts = { timeseries: lines, 'state-timeline': timeline };
    const chart = () => (series.length ? charts[panel.type](panel, series, width, height, range) : `<p>${escape(panel.fieldConfig.defaults.noValue ?? 'nothing')}</p>`);
    const body = { timeseries: chart, 'state-timeline': chart, stat: () => numbers(panel, series), bargauge: () => bars(panel, series), table: () => rows(panel, series) };
    cells.push(`<section style="${place}"><h3>${escape(panel.title)}</h3>${body[panel.type]()}</section>`);
  }
  const height = Math.max(...dashboard.panels.map(({ gridPos: { y, h } }) => (y + h) * ROW)) + 50;
  const page = `<!doctype html><style>
body{margin:0;padding:8px 8px 0;background:#f4f5f7;font:12px sans-serif;color:#22252b}h1{margin:4px 4px 8px;font-size:18px}main{position:relative}
section,h2{position:absolute;box-sizing:border-box}section{background:#fff;border:1px solid #dfe2e7;padding:6px 8px;overflow:hidden}h2{margin:0;font-size:14px;padding:8px 4px}
h3{margin:0 0 4px;font-size:12px}svg text{font-size:10px;fill:#6b7280}.legend{line-height:15px;max-height:30px;overflow:hidden;font-size:11px}.legend span{margin-right:9px;white-space:nowrap}.legend i{display:inline-block;width:9px;height:3px;margin-right:3px;vertical-align:middle}
.stats{display:flex;gap:22px;justify-content:center;align-items:center;height:calc(100% - 20px);text-align:center}.stats b{display:block;font-size:24px}.stats small,.bar small{color:#6b7280}
${Object.entries(NAMED).map(([name, colour]) => `b.${name}{color:${colour}}`).join('')}.bar{display:flex;align-items:center;gap:6px;height:24px}.bar small{width:35%;text-align:right}.bar span{background:#2f7ed8;height:14px;min-width:1px}.bar em{font-style:normal}p,ul{color:#2e7d32}ul{margin:6px 0;padding-left:18px;color:#c23b3b;font-size:13px;line-height:19px;columns:2}h1 small{font-weight:normal;font-size:12px;color:#6b7280;margin-left:12px}
</style><h1>${escape(dashboard.title)} <small>Drawn by prometheus-pictures.mjs from replayed data, not a screenshot of Grafana. Times are UTC.</small></h1><main>${cells.join('')}</main>`;
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] });
  try {
    const tab = await browser.newPage({ viewport: { width: 24 * COLUMN + 8, height } });
    await tab.setContent(page);
    await tab.addScriptTag({ content: await grafanaFormats() });
    await tab.evaluate(() => {
      for (const place of document.querySelectorAll('[data-unit]')) {
        const { unit, value } = place.dataset;
        place.textContent = globalThis.grafana.formattedValueToString(globalThis.grafana.getValueFormat(unit)(Number(value)));
      }
    });
    await tab.screenshot({ path: path.join(folder, `${dashboard.uid.replace('passerelle-', '')}.png`) });
  } finally {
    await browser.close();
  }
}
