// Draws a dashboard with what a real Prometheus answers, for dashboards/README.md: our own charts on Grafana's grid, for
// Grafana itself is not among the tools of this repository. Shapes and data are as there; looks are not.
import path from 'node:path';
import { chromium } from 'playwright-core';

const COLOURS = ['#2f7ed8', '#3d9a50', '#d9822b', '#c23b3b', '#7e57c2', '#0097a7', '#8d6e63', '#5c6bc0', '#9e9d24', '#ad1457'];
const [COLUMN, ROW] = [52, 28];
const escape = (text) => String(text).replaceAll('&', '&amp;').replaceAll('<', '&lt;');

/** A value as Grafana writes it, in the units that the dashboards use. */
function written(value, unit = '') {
  const short = (number) => (Math.abs(number) >= 100 ? number.toFixed(0) : Number(number.toPrecision(3)).toString());
  if (unit === 'percentunit') return `${short(value * 100)} %`;
  if (unit === 'bytes') return `${short(value / 2 ** 20)} MiB`;
  if (unit.startsWith('suffix:')) return `${short(value)}${unit.slice(7)}`;
  if (unit !== 's') return short(value);
  const size = Math.abs(value);
  const [divisor, name] = [[86_400, 'd'], [3600, 'h'], [60, 'min'], [1, 's'], [1e-3, 'ms'], [1e-6, 'µs']].find(([least]) => size >= least) ?? [1, 's'];
  return `${short(value / divisor)} ${name}`;
}

const legend = (target, metric) => target.legendFormat.replaceAll(/\{\{\s*(\w+)\s*\}\}/g, (_, label) => metric[label] ?? '');

function lines(panel, series, width, height, { start, end }) {
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
  const low = Math.min(min ?? Infinity, ...all, ...(min === undefined ? [] : [min]));
  const most = Math.max(...all);
  const top = max ?? (most > low ? most : low + 1);
  const x = (at) => 58 + ((at - start) / (end - start)) * (width - 68);
  const y = (value) => 6 + (1 - (value - low) / (top - low || 1)) * (height - 14);
  const ticks = [0, 0.5, 1].map((share) => low + (top - low) * share);
  const grid = ticks.map((tick) => `<line x1="58" x2="${width - 8}" y1="${y(tick)}" y2="${y(tick)}" stroke="#e3e6ea"/><text x="54" y="${y(tick) + 4}" text-anchor="end">${escape(written(tick, unit))}</text>`);
  const fixed = new Map(panel.fieldConfig.overrides.map(({ matcher, properties }) => [matcher.options, properties.find(({ id }) => id === 'color')?.value.fixedColor]));
  const colourOf = (name, index) => fixed.get(name) ?? COLOURS[index % COLOURS.length];
  const drawn = shapes.map(({ name, points }, index) => {
    const colour = colourOf(name, index);
    const line = points.map(([at, value]) => `${x(at).toFixed(1)},${y(value).toFixed(1)}`);
    const back = points.map(([at, , from]) => `${x(at).toFixed(1)},${y(from).toFixed(1)}`).reverse();
    return `${stacked ? `<polygon points="${[...line, ...back].join(' ')}" fill="${colour}" opacity=".25"/>` : ''}<polyline points="${line.join(' ')}" fill="none" stroke="${colour}" stroke-width="1.5"/>`;
  });
  const names = series.slice(0, 8).map(({ name }, index) => `<span><i style="background:${colourOf(name, index)}"></i>${escape(name)}</span>`);
  if (series.length > 8) names.push(`<span>and ${series.length - 8} more</span>`);
  return `<svg width="${width}" height="${height}">${grid.join('')}${drawn.join('')}</svg><div class="legend">${names.join('')}</div>`;
}

function numbers(panel, series) {
  const { unit, noValue, thresholds } = panel.fieldConfig.defaults;
  const colour = (value) => thresholds.steps.filter((step) => step.value === null || value >= step.value).at(-1)?.color ?? 'green';
  if (series.length === 0) return `<div class="stats"><b>${escape(noValue ?? 'no data')}</b></div>`;
  return `<div class="stats">${series.map(({ name, values }) => `<div><b class="${colour(values.at(-1)[1])}">${escape(written(values.at(-1)[1], unit))}</b><small>${escape(name)}</small></div>`).join('')}</div>`;
}

function bars(panel, series) {
  const most = Math.max(...series.map(({ values }) => values.at(-1)[1]), 1);
  return series.map(({ name, values }) => {
    const value = values.at(-1)[1];
    return `<div class="bar"><small>${escape(name)}</small><span style="width:${(60 * value) / most}%"></span><em>${escape(written(value, panel.fieldConfig.defaults.unit))}</em></div>`;
  }).join('');
}

export async function draw(dashboard, { ask, filled, end, folder }) {
  const start = end - 75;
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
      const { result } = await ask(panel.type === 'timeseries' ? 'query_range' : 'query', { query: filled(target.expr), time: end, start, end, step: 1 });
      for (const { metric, values, value } of result) {
        series.push({ name: legend(target, metric), values: (values ?? [value]).map(([at, number]) => [at, Number(number)]) });
      }
    }
    const [width, height] = [w * COLUMN - 24, h * ROW - 80];
    const body = { timeseries: () => (series.length ? lines(panel, series, width, height, { start, end }) : '<p>nothing, as it should be</p>'), stat: () => numbers(panel, series), bargauge: () => bars(panel, series) };
    cells.push(`<section style="${place}"><h3>${escape(panel.title)}</h3>${body[panel.type]()}</section>`);
  }
  const height = Math.max(...dashboard.panels.map(({ gridPos: { y, h } }) => (y + h) * ROW)) + 50;
  const page = `<!doctype html><style>
body{margin:0;padding:8px 8px 0;background:#f4f5f7;font:12px sans-serif;color:#22252b}h1{margin:4px 4px 8px;font-size:18px}main{position:relative}
section,h2{position:absolute;box-sizing:border-box}section{background:#fff;border:1px solid #dfe2e7;padding:6px 8px;overflow:hidden}h2{margin:0;font-size:14px;padding:8px 4px}
h3{margin:0 0 4px;font-size:12px}svg text{font-size:10px;fill:#6b7280}.legend{line-height:15px;max-height:30px;overflow:hidden;font-size:11px}.legend span{margin-right:9px;white-space:nowrap}.legend i{display:inline-block;width:9px;height:3px;margin-right:3px;vertical-align:middle}
.stats{display:flex;gap:22px;justify-content:center;align-items:center;height:calc(100% - 20px);text-align:center}.stats b{display:block;font-size:24px}.stats small,.bar small{color:#6b7280}
b.green{color:#2e7d32}b.orange{color:#d9822b}b.red{color:#c23b3b}.bar{display:flex;align-items:center;gap:6px;height:24px}.bar small{width:35%;text-align:right}.bar span{background:#2f7ed8;height:14px;min-width:1px}.bar em{font-style:normal}p{color:#2e7d32}
</style><h1>${escape(dashboard.title)}</h1><main>${cells.join('')}</main>`;
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] });
  try {
    const tab = await browser.newPage({ viewport: { width: 24 * COLUMN + 8, height } });
    await tab.setContent(page);
    await tab.screenshot({ path: path.join(folder, `${dashboard.uid.replace('passerelle-', '')}.png`) });
  } finally {
    await browser.close();
  }
}
