// Records hubs under load once a second, and replays that into a Prometheus of its own as one scrape in 15 seconds: four
// minutes become an hour, with the intervals that operators use. Counts are real; rates are a fifteenth of the real ones.
import { execFileSync, spawn } from 'node:child_process';
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { freePorts } from './harness.mjs';

const SECONDS = 240;
const STRETCH = 15;

/** Records the metrics of each target each second while the load runs: `[second, instance, text]`. */
async function record(targets, load) {
  const began = Date.now();
  const loading = load(performance.now() + SECONDS * 1000);
  const scrapes = [];
  for (let second = 0; second <= SECONDS; second += 1) {
    await new Promise((done) => { setTimeout(done, Math.max(0, began + second * 1000 - Date.now())); });
    for (const target of targets) {
      const text = await fetch(`${target}/metrics`).then((answer) => answer.text(), () => '');
      scrapes.push([second, new URL(target).host, text]);
    }
  }
  await loading;
  return { began: began / 1000, scrapes };
}

/** Points in time are metrics too: those since the recording began are stretched with it. */
function stretched(name, value, { began, start, second }) {
  if (!/_timestamp_seconds$|_start_time_seconds$/.test(name) || value === 0) return value;
  if (/expiry/.test(name)) return value + start - began;
  // One each minute, whatever the scrapes: its age stays.
  if (/last_checkpoint/.test(name)) return start + second * STRETCH - (began + second - value);
  return start + (value - began) * STRETCH;
}

function openMetrics({ began, scrapes }, start) {
  const lines = [];
  for (const [second, instance, text] of scrapes) {
    const at = start + second * STRETCH;
    lines.push(`up{job="passerelle",instance="${instance}"} ${text ? 1 : 0} ${at}`);
    for (const line of text.split('\n').filter((one) => one && !one.startsWith('#'))) {
      const [, name, labels = '', value] = line.match(/^(\w+)(?:\{(.*)\})? (\S+)$/);
      const all = [labels, `job="passerelle",instance="${instance}"`].filter(Boolean).join(',');
      lines.push(`${name}{${all}} ${stretched(name, Number(value), { began, start, second })} ${at}`);
    }
  }
  return `${lines.join('\n').replaceAll('Infinity', 'Inf')}\n# EOF\n`;
}

export async function replay({ folder, targets, load, filled }) {
  const recorded = await record(targets, load);
  const end = Math.floor(Date.now() / 1000 / 60) * 60;
  const start = end - SECONDS * STRETCH;
  const file = path.join(folder, 'recorded.txt');
  writeFileSync(file, openMetrics(recorded, start));
  const data = path.join(folder, 'replayed');
  execFileSync('promtool', ['tsdb', 'create-blocks-from', 'openmetrics', file, data], { stdio: 'pipe', maxBuffer: 1 << 28 });
  const [port] = await freePorts(1);
  const config = path.join(folder, 'replay.yml');
  writeFileSync(config, 'scrape_configs: []\n');
  const server = spawn('prometheus', [`--config.file=${config}`, `--storage.tsdb.path=${data}`, '--storage.tsdb.retention.time=10y', `--web.listen-address=127.0.0.1:${port}`, '--log.level=error'], { stdio: ['ignore', 'inherit', 'inherit'] });
  process.once('exit', () => server.kill('SIGKILL'));
  const base = `http://127.0.0.1:${port}`;
  for (let tries = 0; !await fetch(`${base}/-/ready`).then((answer) => answer.ok, () => false); tries += 1) {
    assert.ok(tries < 300, 'the replaying Prometheus is not ready');
    await new Promise((done) => { setTimeout(done, 100); });
  }
  const ask = async (kind, parameters) => {
    const { status, error, data: found } = await (await fetch(`${base}/api/v1/${kind}?${new URLSearchParams(parameters)}`)).json();
    assert.equal(status, 'success', `${error}: ${JSON.stringify(parameters)}`);
    return found;
  };
  const asHour = (expression) => filled(expression.replaceAll('$__rate_interval', '1m').replaceAll('$__range', '1h').replaceAll('$instance', '.+').replaceAll('$job', '.+'));
  const stop = async () => {
    const ended = new Promise((done) => { server.once('exit', done); });
    server.kill('SIGTERM');
    await ended;
  };
  return { ask, filled: asHour, start, end, stop };
}
