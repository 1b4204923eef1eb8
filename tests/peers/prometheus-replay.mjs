// Records the metrics of hubs under load every 15 seconds for half an hour, and starts a Prometheus that serves the recording.
//
// PROMETHEUS_RECORDING names a file: an existing one is served instead of a new recording, which is otherwise written to it.
import { execFileSync, spawn } from 'node:child_process';
import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { freePorts } from './harness.mjs';

const RECORDED_MS = 1_800_000;
const SCRAPE_INTERVAL_MS = 15_000;

/** Scrapes each target while the load runs: `[Unix time, instance, text]`. */
async function record(targets, load) {
  const began = Date.now();
  const loading = load(performance.now() + RECORDED_MS, RECORDED_MS);
  const scrapes = [];
  for (let at = began; at <= began + RECORDED_MS; at += SCRAPE_INTERVAL_MS) {
    await new Promise((done) => { setTimeout(done, Math.max(0, at - Date.now())); });
    for (const target of targets) {
      const text = await fetch(`${target}/metrics`).then((answer) => answer.text(), () => '');
      scrapes.push([at / 1000, new URL(target).host, text]);
    }
  }
  await loading;
  return scrapes;
}

function openMetrics(scrapes) {
  const lines = [];
  for (const [at, instance, text] of scrapes) {
    lines.push(`up{job="passerelle",instance="${instance}"} ${text ? 1 : 0} ${at}`);
    for (const line of text.split('\n').filter((one) => one && !one.startsWith('#'))) {
      const [, name, labels = '', value] = line.match(/^(\w+)(?:\{(.*)\})? (\S+)$/);
      const all = [labels, `job="passerelle",instance="${instance}"`].filter(Boolean).join(',');
      lines.push(`${name}{${all}} ${value} ${at}`);
    }
  }
  return `${lines.join('\n').replaceAll('Infinity', 'Inf')}\n# EOF\n`;
}

export async function startReplay({ folder, targets, load, filled }) {
  const recording = process.env.PROMETHEUS_RECORDING ?? path.join(folder, 'recording.json');
  if (!existsSync(recording)) writeFileSync(recording, JSON.stringify(await record(targets, load)));
  return serveScrapes(JSON.parse(readFileSync(recording, 'utf8')), { folder, filled });
}

/** Starts a Prometheus that serves `scrapes`: `[Unix time, instance, text]`, in the order of time. */
export async function serveScrapes(scrapes, { folder, filled }) {
  const [start, end] = [scrapes[0][0], scrapes.at(-1)[0]];
  const file = path.join(folder, 'recorded.txt');
  writeFileSync(file, openMetrics(scrapes));
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
  const asRecorded = (expression) => filled(expression.replaceAll('$__rate_interval', '1m').replaceAll('$__range', '1h').replaceAll('$instance', '.+').replaceAll('$job', '.+'));
  const stop = async () => {
    const ended = new Promise((done) => { server.once('exit', done); });
    server.kill('SIGTERM');
    await ended;
  };
  return { ask, filled: asRecorded, start, end, stop };
}
