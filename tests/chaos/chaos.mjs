// Three hubs behind a balancer, a Redis that fails over, persons who sign in without pause, and a misfortune every few seconds.
//
//   node chaos.mjs [--seconds 600] [--every 5] [--rate 90] [--persons 12] [--seed 1] [--only restart,upgrade] [--table FILE]
//
// HUB_BIN is the program; HUB_BIN_BEFORE, where given, the last release: upgrades go to and fro between the two.
// It ends with 1 if anything was lost that must not be.
import { writeFileSync } from 'node:fs';
import { get } from 'node:http';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { program } from '../peers/harness.mjs';
import { startCast } from './cast.mjs';

const { values: options } = parseArgs({ options: Object.fromEntries(
  Object.entries({ seconds: '600', every: '5', rate: '90', persons: '12', seed: '1', only: '', table: '' })
    .map(([name, value]) => [name, { type: 'string', default: value }]),
) });
const number = (name) => Number(options[name]);

const before = process.env.HUB_BIN_BEFORE;
const cast = await startCast({ programs: before ? [before, program] : [program] });
const { hubs, store } = cast;
let turn = 0;
const next = () => hubs[turn++ % hubs.length];

async function again(hub) {
  hub.start();
  await hub.ready();
}
/** Each comes back when the cast is whole again: two misfortunes at once are another test. */
const misfortunes = {
  async restart() {
    const hub = next();
    const how = await hub.end('SIGTERM');
    if (how !== 0) throw new Error(`${hub.name} ended with ${how} on SIGTERM`);
    await again(hub);
  },
  async upgrade() {
    const hub = next();
    await hub.end('SIGTERM');
    hub.upgrade();
    await again(hub);
  },
  async kill() {
    const hub = next();
    await hub.end('SIGKILL');
    await sleep(500);
    await again(hub);
  },
  async failover() {
    const old = await store.primary();
    await store.failover();
    for (let tries = 0; await store.primary() === old; tries += 1) {
      if (tries > 300) throw new Error('the Sentinels do not change places');
      await sleep(100);
    }
    await store.settled();
  },
  async 'primary killed'() {
    const old = await store.primary();
    const actor = store.server(old);
    await actor.end('SIGKILL');
    for (let tries = 0; [0, old].includes(await store.primary()); tries += 1) {
      if (tries > 600) throw new Error('the Sentinels elect nobody');
      await sleep(100);
    }
    actor.start();
    await store.settled();
  },
  async stall() {
    const actor = store.server(await store.primary());
    actor.child.kill('SIGSTOP');
    await sleep(1000);
    actor.child.kill('SIGCONT');
    await store.settled();
  },
};
const plan = options.only ? options.only.split(',') : Object.keys(misfortunes);
for (const name of plan) if (!misfortunes[name]) throw new Error(`--only: there is no ${name}; there are ${Object.keys(misfortunes)}`);

const crowd = new Worker(path.join(path.dirname(fileURLToPath(import.meta.url)), 'browsers.mjs'), {
  workerData: { base: cast.base, sp: cast.sp, persons: number('persons'), rate: number('rate'), seed: number('seed') },
});
const finished = new Promise((resolve, reject) => {
  crowd.once('error', reject);
  crowd.on('message', (message) => message.done && resolve(message));
});
const countsNow = () => new Promise((resolve) => {
  crowd.once('message', ({ counts }) => resolve({ ...counts }));
  crowd.postMessage('counts');
});

const suffered = {};
const began = performance.now();
const isTime = () => performance.now() - began < number('seconds') * 1000;
let broken;
finished.catch((error) => { broken = error; });
await sleep(2000);
for (let index = 0; isTime() && !broken; index += 1) {
  const name = plan[index % plan.length];
  const from = { at: performance.now(), counts: await countsNow() };
  process.stderr.write(`${((from.at - began) / 1000).toFixed(0)} s: ${name}\n`);
  await misfortunes[name]();
  const to = await countsNow();
  const tally = suffered[name] ??= { times: 0, finished: 0, retried: 0, lost: 0 };
  const sum = (counts, start) => Object.entries(counts).filter(([key]) => key.startsWith(start)).reduce((all, [, count]) => all + count, 0);
  tally.times += 1;
  for (const [column, start] of [['finished', 'finished'], ['retried', 'retried'], ['lost', 'LOST']]) tally[column] += sum(to, start) - sum(from.counts, start);
  await sleep(number('every') * 1000);
}
crowd.postMessage('stop');
const { counts, dead } = await finished;
const seconds = (performance.now() - began) / 1000;

/** Asked of the hub itself; fetch would not let the public name stand in Host. */
const statusAt = (hub, token) => new Promise((resolve, reject) => {
  const headers = { authorization: `Bearer ${token}`, host: new URL(cast.base).host };
  get({ host: '127.0.0.1', port: hub.port, path: '/api/v2/userinfo', headers }, (answer) => {
    answer.resume();
    resolve(answer.statusCode);
  }).once('error', reject);
});

// Whatever was acknowledged as gone is gone at every hub.
const alive = [];
for (const hub of hubs) {
  for (let from = 0; from < dead.length; from += 20) {
    await Promise.all(dead.slice(from, from + 20).map(async ({ token }) => {
      if (await statusAt(hub, token) !== 401) alive.push(token);
    }));
  }
}
await cast.stop();

const lost = Object.entries(counts).filter(([name]) => /^[A-Z]{3,}/.test(name));
const rows = [
  ['logins begun', counts.begun], ['finished', counts.finished],
  ['answers that the browser had to ask for again', Object.entries(counts).filter(([name]) => name.startsWith('retried')).reduce((all, [, n]) => all + n, 0)],
  ['codes whose answer got lost: signed in once more by the session', counts['sent around once more'] ?? 0],
  ['single sign-on without a question', counts['single sign-on'] ?? 0],
  ['codes offered at two doors at once', counts['codes tried twice'] ?? 0],
  ['of these redeemed twice', counts['CODES REDEEMED TWICE'] ?? 0],
  ['tokens revoked or logged out', dead.length], ['of these alive afterwards', alive.length],
  ['sessions alive after their logout', counts['SESSIONS ALIVE AFTER LOGOUT'] ?? 0],
  ['logins lost', lost.filter(([name]) => name.startsWith('LOST')).reduce((all, [, n]) => all + n, 0)],
];
const table = (heads, lines) => [heads, heads.map(() => '---'), ...lines].map((line) => `| ${line.join(' | ')} |`).join('\n');
const report = `${table(['what', 'how many'], rows)}\n\n${table(
  ['misfortune', 'times', 'logins that ended meanwhile', 'asked for again', 'lost'],
  Object.entries(suffered).map(([name, tally]) => [name, tally.times, tally.finished, tally.retried, tally.lost]),
)}\n\n${seconds.toFixed(0)} s, ${(counts.finished / seconds).toFixed(0)} logins a second, seed ${options.seed}.\n`;
process.stdout.write(`${report}${lost.map(([name, n]) => `${n} × ${name}\n`).join('')}`);
if (options.table) writeFileSync(options.table, report);
process.exit(lost.length || alive.length ? 1 : 0);
