// Measures the cost of attacks at a fixed rate, and their effect on honest logins from other networks: docs/limits.md, "What a
// stranger can consume".
//
//   node tests/flood/flood.mjs [--rate 1000] [--seconds 20] [--logins 5] [--networks many|one] [--p99 50] [--only TEXT]
//
// HUB_BIN names the program; measure a `dist` build. The output is a table with a row for each attack: CPU, memory, log, audit log,
// metric series, stored logins, and the times of honest requests. The run fails if an honest login fails, or if the 99th percentile of
// the honest requests is above --p99 milliseconds.
import { readFileSync, readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { Browser, answerConsent, chooseProvider, freePorts, random, startHub } from '../peers/harness.mjs';

const { values } = parseArgs({ options: {
  rate: { type: 'string', default: '1000' }, seconds: { type: 'string', default: '20' }, logins: { type: 'string', default: '5' },
  networks: { type: 'string', default: 'many' }, p99: { type: 'string', default: '50' }, only: { type: 'string', default: '' },
} });
const [rate, seconds, loginRate, maxP99] = [values.rate, values.seconds, values.logins, values.p99].map(Number);
/** Clock ticks a second in /proc/PID/stat (USER_HZ). */
const TICKS_PER_SECOND = 100;

const [port, privatePort] = await freePorts(2);
const sp = { id: 'alpha', secret: random(32), redirectUri: `http://localhost:${port}/sp/callback` };
const hub = await startHub('flood', {
  port, privatePort,
  sps: [{ ...sp, redirectUris: [sp.redirectUri] }],
  connectors: { trial: 'name = { en = "Trial account" }\nlevels = { lowest = "eidas1", highest = "eidas1" }\n[kind.persona]\n' },
  settings: 'sandbox = true\n[log]\nformat = "json"\n[audit]\nsink = "file"\npath = "audit/audit.jsonl"\n',
  publicListener: 'trusted_proxies = ["127.0.0.1/32"]\nclient_address_header = "x-forwarded-for"',
});

/** A browser from an honest network that measures the time of its requests. */
class TimedBrowser extends Browser {
  static times = [];
  address = `198.18.${Math.floor(Math.random() * 250)}.${Math.floor(Math.random() * 250)}`;

  async step(url, { headers = {}, ...rest } = {}) {
    const start = performance.now();
    const page = await super.step(url, { ...rest, headers: { ...headers, 'x-forwarded-for': this.address } });
    TimedBrowser.times.push(performance.now() - start);
    return page;
  }
}

async function signIn() {
  const browser = new TimedBrowser();
  const parameters = { response_type: 'code', client_id: sp.id, redirect_uri: sp.redirectUri, scope: 'openid profile', acr_values: 'eidas1', state: random(32), nonce: random(32) };
  const page = await chooseProvider(browser, await browser.open(`${hub.issuer}/authorize?${new URLSearchParams(parameters)}`), 'trial');
  const consent = await browser.submit(page, { values: { person: 'angela', level: 'eidas1', method: 'pwd' } });
  const redirect = await answerConsent(browser, consent, 'yes', sp.redirectUri);
  const code = redirect.stopped && new URL(redirect.url).searchParams.get('code');
  if (!code) throw new Error(`no code: ${redirect.status} ${redirect.html?.slice(0, 500)}`);
  const start = performance.now();
  const form = { grant_type: 'authorization_code', code, redirect_uri: sp.redirectUri, client_id: sp.id, client_secret: sp.secret };
  const response = await fetch(`${hub.issuer}/token`, { method: 'POST', body: new URLSearchParams(form), headers: { 'x-forwarded-for': browser.address } });
  if (response.status !== 200) throw new Error(`token: ${response.status} ${await response.text()}`);
  await response.text();
  TimedBrowser.times.push(performance.now() - start);
}

/** Returns the resource usage of the hub. */
async function readUsage() {
  const stat = readFileSync(`/proc/${hub.pid}/stat`, 'utf8').split(') ')[1].split(' ');
  const text = await (await fetch(`${hub.privateBase}/metrics`)).text();
  const folder = path.join(hub.folder, 'audit');
  return {
    cpu: (Number(stat[11]) + Number(stat[12])) / TICKS_PER_SECOND,
    rss: Number(readFileSync(`/proc/${hub.pid}/status`, 'utf8').match(/VmRSS:\s+(\d+)/)[1]) / 1024,
    log: hub.log().length,
    audit: readdirSync(folder).reduce((sum, name) => sum + statSync(path.join(folder, name)).size, 0),
    series: text.split('\n').filter((line) => line && !line.startsWith('#')).length,
    logins: Number(text.match(/^passerelle_store_pool_records\{pool="logins"\} (\d+)$/m)?.[1] ?? 0),
  };
}

const percentile = (times, share) => times.toSorted((a, b) => a - b)[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0;
const runAttack = (kind) => new Promise((resolve, reject) => {
  const worker = new Worker(new URL('./attack-worker.mjs', import.meta.url), { workerData: { port, host: `localhost:${port}`, rate, seconds, kind, sp, networks: values.networks } });
  worker.once('message', resolve).once('error', reject);
});

/** Sends honest logins for `seconds`, during the attack if `kind` is not null. Prints a row of the table. */
async function measure(kind) {
  TimedBrowser.times = [];
  const before = await readUsage();
  const attack = kind && runAttack(kind);
  const [logins, failures, start] = [[], [], performance.now()];
  while (performance.now() - start < seconds * 1000) {
    logins.push(signIn().catch((error) => failures.push(error.message)));
    await sleep(1000 / loginRate);
  }
  await Promise.all(logins);
  const { sent = 0, failed = 0, status = {} } = await attack ?? {};
  const [after, times] = [await readUsage(), TimedBrowser.times];
  const perRequest = (name, digits = 0) => (sent ? ((after[name] - before[name]) / sent).toFixed(digits) : '–');
  const p99 = percentile(times, 0.99);
  const statuses = Object.entries(status).map(([code, count]) => `${code}: ${count}`).join(', ');
  console.log(`| ${kind ?? 'none'} | ${Math.round(sent / seconds)} (${statuses}${failed ? `, failed: ${failed}` : ''}) | ${((after.cpu - before.cpu) / seconds * 100).toFixed(0)} % | ${sent ? (perRequest('cpu', 6) * 1e6).toFixed(0) : '–'} | ${(after.rss - before.rss).toFixed(0)} | ${perRequest('log')} | ${perRequest('audit')} | ${after.series - before.series} | ${after.logins - before.logins} | ${percentile(times, 0.5).toFixed(1)} | ${p99.toFixed(1)} | ${logins.length - failures.length} of ${logins.length} |`);
  for (const failure of failures.slice(0, 3)) console.error(failure);
  return { kind, p99, failures: failures.length };
}

const rows = [];
try {
  await signIn();
  console.log('| attack | requests/s (answers) | CPU of the hub | µs CPU each | MB more | log bytes each | audit bytes each | series more | logins more | honest p50 ms | honest p99 ms | honest logins |');
  console.log('|---|---|---|---|---|---|---|---|---|---|---|---|');
  const kinds = (await runAttack(null)).filter((kind) => kind.includes(values.only));
  for (const kind of [null, ...kinds]) rows.push(await measure(kind));
} finally {
  await hub.stop();
}
const bad = rows.filter((row) => row.failures > 0 || row.p99 > maxP99);
for (const { kind, p99, failures } of bad) console.error(`${kind ?? 'no attack'}: p99 ${p99.toFixed(1)} ms, ${failures} failed logins`);
process.exitCode = bad.length > 0 ? 1 : 0;
