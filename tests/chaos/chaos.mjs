// Three hubs behind a balancer, a Redis that fails over, persons who sign in without pause, and a misfortune every few seconds:
// docs/chaos.md says what is counted.
//
//   node chaos.mjs [--seconds 600] [--every 5] [--rate 90] [--persons 12] [--real 0.1] [--seed 1] [--only restart,upgrade]
//                  [--rounds 0] [--table FILE]
//
// `seconds` is how long misfortunes begin; with `rounds`, each comes so often at least, however long it takes.
// HUB_BIN is the program; HUB_BIN_BEFORE, where given, the last release: upgrades go to and fro between the two.
// It ends with 1 if anything was lost that must not be.
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { program } from '../peers/harness.mjs';
import { startCast } from './cast.mjs';
import { OPTIONAL, followPrimary, misfortunesOf } from './misfortunes.mjs';
import { startReceiver } from './receiver.mjs';
import { startVigil } from './vigil.mjs';

const { values: options } = parseArgs({ options: Object.fromEntries(
  Object.entries({ seconds: '600', every: '5', rate: '90', persons: '12', real: '0.1', seed: '1', rounds: '0', only: '', table: '' })
    .map(([name, value]) => [name, { type: 'string', default: value }]),
) });
const number = (name) => Number(options[name]);
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(130));

const before = process.env.HUB_BIN_BEFORE;
// The release before may not know logout tokens.
const receiver = before ? undefined : await startReceiver();
const cast = await startCast({ programs: before ? [before, program] : [program], extra: receiver?.extra });

/** All that must not be: { what, why, from, at }, `from` being when the hub gave its word, or the login began. */
const wrongs = [];
const wrong = (one) => {
  wrongs.push(one);
  process.stderr.write(`${one.what}${one.why ? `: ${one.why}` : ''}\n`);
};
const vigil = startVigil({ ...cast, wrong });
const failovers = followPrimary(cast.store, () => vigil.failedOver());
const misfortunes = misfortunesOf(cast, failovers);
const plan = options.only ? options.only.split(',') : Object.keys(misfortunes).filter((name) => name !== OPTIONAL);
for (const name of plan) if (!misfortunes[name]) throw new Error(`--only: there is no ${name}; there are ${Object.keys(misfortunes)}`);

const crowd = new Worker(path.join(path.dirname(fileURLToPath(import.meta.url)), 'browsers.mjs'), {
  workerData: {
    base: cast.base, providerBase: cast.providerBase, sp: cast.sp,
    persons: number('persons'), rate: number('rate'), real: number('real'), seed: number('seed'), informs: Boolean(receiver),
  },
});
const asked = [];
let broken;
const finished = new Promise((resolve, reject) => {
  crowd.once('error', reject);
  crowd.on('message', ({ kind, ...message }) => ({
    done: () => resolve(message.counts),
    counts: () => asked.shift()(message.counts),
    ended: () => vigil.ended(message),
    spent: () => vigil.spent(message),
    loggedOut: () => receiver.expect(message),
    wrong: () => wrong(message),
  })[kind]());
});
finished.catch((error) => { broken = error; });
const countsNow = () => Promise.race([finished.then((counts) => counts), new Promise((resolve) => {
  asked.push(resolve);
  crowd.postMessage('counts');
})]);
const retriedIn = (counts) => Object.entries(counts).filter(([name]) => name.startsWith('retried')).reduce((all, [, n]) => all + n, 0);

const suffered = {};
const began = performance.now();
const elapsed = () => (performance.now() - began) / 1000;
await sleep(2000);
for (let index = 0; (elapsed() < number('seconds') || index < number('rounds') * plan.length) && !broken; index += 1) {
  const name = plan[index % plan.length];
  const from = { at: elapsed(), counts: await countsNow(), wrongs: wrongs.length };
  await misfortunes[name]();
  const to = await countsNow();
  const tally = suffered[name] ??= { times: 0, seconds: 0, finished: 0, retried: 0, wrong: 0 };
  tally.times += 1;
  tally.seconds += elapsed() - from.at;
  tally.finished += (to.finished ?? 0) - (from.counts.finished ?? 0);
  tally.retried += retriedIn(to) - retriedIn(from.counts);
  tally.wrong += wrongs.length - from.wrongs;
  process.stderr.write(`${from.at.toFixed(0)} s: ${name}, ${(elapsed() - from.at).toFixed(1)} s\n`);
  await sleep(number('every') * 1000);
}
crowd.postMessage('stop');
const counts = await finished;
const seconds = elapsed();
await vigil.end();
await receiver?.end(wrong);
failovers.stop();
await cast.stop();
await receiver?.close();

// What Redis may lose when a primary dies is counted apart: a word that the hub gave, or a login that began, shortly before.
const sorted = wrongs.map((one) => ({ ...one, excused: failovers.mayHaveLost(one) }));
const these = (what, excused) => sorted.filter((one) => one.what === what && one.excused === excused).length;
const inexcusable = sorted.filter(({ excused }) => !excused);
const rows = [
  ['logins begun', counts.begun], ['of these finished', counts.finished ?? 0], ['of these lost', these('login lost', false)],
  ['answers that a browser had to ask for again', retriedIn(counts)],
  ['codes whose answer got lost: signed in once more', counts['sent around once more'] ?? 0],
  ['logins by the real identity provider', counts['by the real provider'] ?? 0],
  ['single sign-on without a question', counts['single sign-on'] ?? 0],
  ['codes offered at two doors at once', counts['codes tried twice'] ?? 0], ['of these redeemed twice', these('code redeemed twice', false)],
  ['redeemed codes offered again after a failover', vigil.counts.offered],
  ['of these redeemed again', these('code redeemed again after a failover', false)],
  ['tokens ended, by revocation, logout or a code offered twice', vigil.counts.ended],
  ['hubs asked about them at once', vigil.counts.atOnce], ['hubs asked about them 10 to 20 seconds later', vigil.counts.later],
  ['of these said alive', these('token alive after its end', false)],
  ['logouts', counts['logged out'] ?? 0], ['of these with the session still alive', these('session alive after its logout', false)],
  ...(receiver ? [
    ['sessions of which the service had to be informed', receiver.counts.expected], ['of these never informed', these('logout token lost', false)],
    ['informed more than once', receiver.counts.again],
  ] : []),
  ['failovers', failovers.count()], ['of these not caused by this run', failovers.unforeseen()],
  ['lost, twice or alive, as far as Redis may lose it', sorted.length - inexcusable.length],
];
const table = (heads, lines) => [heads, heads.map(() => '---'), ...lines].map((line) => `| ${line.join(' | ')} |`).join('\n');
const report = `${table(['what', 'how many'], rows)}\n\n${table(
  ['misfortune', 'times', 'seconds each', 'logins that ended meanwhile', 'asked for again', 'lost, twice or alive'],
  Object.entries(suffered).map(([name, tally]) => [name, tally.times, (tally.seconds / tally.times).toFixed(1), tally.finished, tally.retried, tally.wrong]),
)}\n\n${seconds.toFixed(0)} s, ${((counts.finished ?? 0) / seconds).toFixed(0)} logins a second, seed ${options.seed}.\n`;
process.stdout.write(report);
for (const { what, why, from, at, excused } of sorted) {
  process.stdout.write(`${excused ? 'excused: ' : ''}${what}${why ? `: ${why}` : ''}; ${new Date(from).toISOString()} to ${new Date(at).toISOString()}\n`);
}
if (sorted.length) process.stdout.write(`failovers: ${failovers.summary()}\n`);
if (options.table) writeFileSync(options.table, report);
process.exit(inexcusable.length ? 1 : 0);
