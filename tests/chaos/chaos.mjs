// The chaos run: injects a fault every few seconds while simulated users sign in, and counts violations. See docs/chaos.md.
//
//   node chaos.mjs [--seconds 600] [--every 5] [--rate 90] [--users 12] [--real 0.1] [--mail 0.1] [--seed 1] [--only restart,upgrade]
//                  [--rounds 0] [--table FILE]
//
// `real` and `mail` are the parts of the logins that use the real identity provider and that need a code by mail.
// The run injects faults for `seconds`, and each fault at least `rounds` times, even if that takes longer.
// HUB_BIN is the program. HUB_BIN_BEFORE, if set, is an earlier release: hubs start with it, and upgrades alternate between the
// two. The exit code is 1 after a violation that Redis does not permit.
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { freePorts, program } from '../peers/harness.mjs';
import { startCluster } from './cluster.mjs';
import { OPT_IN_FAULT, createFaults, followPrimary } from './faults.mjs';
import { startLogoutTokenReceiver } from './logout-token-receiver.mjs';
import { startRevocationMonitor } from './revocation-monitor.mjs';

const { values: options } = parseArgs({ options: Object.fromEntries(
  Object.entries({ seconds: '600', every: '5', rate: '90', users: '12', real: '0.1', mail: '0.1', seed: '1', rounds: '0', only: '', table: '' })
    .map(([name, value]) => [name, { type: 'string', default: value }]),
) });
const numberOption = (name) => Number(options[name]);
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(130));

const programBefore = process.env.HUB_BIN_BEFORE;
// An earlier release may have no codes by mail, and no logout tokens.
const citizens = 10;
const [mailPort] = programBefore || numberOption('mail') === 0 ? [] : await freePorts(1);
const receiver = programBefore ? undefined : await startLogoutTokenReceiver();
const cluster = await startCluster({ programs: programBefore ? [programBefore, program] : [program], extra: receiver?.extra, mail: mailPort && { port: mailPort, users: numberOption('users'), citizens } });

/** Each violation is { what, why, from, at }; `from` is the time of the hub's acknowledgement, or of the start of the login. */
const violations = [];
const reportViolation = (violation) => {
  violations.push(violation);
  process.stderr.write(`${violation.what}${violation.why ? `: ${violation.why}` : ''}\n`);
};
const monitor = startRevocationMonitor({ ...cluster, reportViolation });
const failovers = followPrimary(cluster.store, () => monitor.resendCodes());
const faults = createFaults(cluster, failovers);
const plan = options.only ? options.only.split(',') : Object.keys(faults).filter((name) => name !== OPT_IN_FAULT);
for (const name of plan) if (!faults[name]) throw new Error(`--only: there is no fault ${name}; use one of ${Object.keys(faults).join(', ')}`);

const worker = new Worker(path.join(path.dirname(fileURLToPath(import.meta.url)), 'simulated-users.mjs'), {
  workerData: {
    base: cluster.base, providerBase: cluster.providerBase, sp: cluster.sp,
    users: numberOption('users'), rate: numberOption('rate'), real: numberOption('real'), seed: numberOption('seed'),
    receivesLogoutTokens: Boolean(receiver), mail: mailPort ? numberOption('mail') : 0, mailPort, citizens,
  },
});
const countRequests = [];
let workerFailed = false;
const finished = new Promise((resolve, reject) => {
  worker.once('error', reject);
  worker.on('message', ({ kind, ...message }) => ({
    done: () => resolve(message.counts),
    counts: () => countRequests.shift()(message.counts),
    tokenRevoked: () => monitor.addRevokedToken(message),
    codeRedeemed: () => monitor.addRedeemedCode(message),
    loggedOut: () => receiver.expect(message),
    violation: () => reportViolation(message),
  })[kind]());
});
finished.catch(() => { workerFailed = true; });
const currentCounts = () => Promise.race([finished.then((counts) => counts), new Promise((resolve) => {
  countRequests.push(resolve);
  worker.postMessage('counts');
})]);
const countRetries = (counts) => Object.entries(counts).filter(([name]) => name.startsWith('retried')).reduce((sum, [, n]) => sum + n, 0);

const totals = {};
const startedAt = performance.now();
const elapsed = () => (performance.now() - startedAt) / 1000;
await sleep(2000);
for (let index = 0; (elapsed() < numberOption('seconds') || index < numberOption('rounds') * plan.length) && !workerFailed; index += 1) {
  const name = plan[index % plan.length];
  const before = { at: elapsed(), counts: await currentCounts(), violations: violations.length };
  await faults[name]();
  const counts = await currentCounts();
  const total = totals[name] ??= { times: 0, seconds: 0, completed: 0, retries: 0, violations: 0 };
  total.times += 1;
  total.seconds += elapsed() - before.at;
  total.completed += (counts.completed ?? 0) - (before.counts.completed ?? 0);
  total.retries += countRetries(counts) - countRetries(before.counts);
  total.violations += violations.length - before.violations;
  process.stderr.write(`${before.at.toFixed(0)} s: ${name}, ${(elapsed() - before.at).toFixed(1)} s\n`);
  await sleep(numberOption('every') * 1000);
}
worker.postMessage('stop');
const counts = await finished;
const seconds = elapsed();
await monitor.end();
await receiver?.end(reportViolation);
failovers.stop();
await cluster.stop();
await receiver?.close();

// Violations that a permitted loss of Redis explains are counted separately, and don't fail the run.
const classified = violations.map((violation) => ({ ...violation, permitted: failovers.explains(violation) }));
const failures = classified.filter(({ permitted }) => !permitted);
const countFailures = (what) => failures.filter((violation) => violation.what === what).length;
const rows = [
  ['logins started', counts.started], ['of these completed', counts.completed ?? 0], ['of these lost', countFailures('login lost')],
  ['requests that a browser repeated', countRetries(counts)],
  ['logins repeated because the response with the tokens was lost', counts['repeated logins'] ?? 0],
  ['logins at the real identity provider', counts['logins at the real provider'] ?? 0],
  ...(mailPort ? [
    ['logins with a code by mail', counts['codes by mail'] ?? 0],
    ['mails received', counts['mails received'] ?? 0], ['of these deferred first', counts['mails deferred'] ?? 0],
    ['codes by mail that the user had sent again', counts['mails sent again'] ?? 0],
    ['codes by mail entered twice at the same time, or in another login', counts['mail codes entered again'] ?? 0],
    ['of these counted twice', countFailures('mail code counted twice')],
  ] : []),
  ['single sign-on without a page', counts['single sign-on'] ?? 0],
  ['codes sent twice at the same time', counts['codes sent twice'] ?? 0], ['of these redeemed twice', countFailures('code redeemed twice')],
  ['redeemed codes sent again after a failover', monitor.counts.resentCodes],
  ['of these redeemed again', countFailures('code redeemed again after a failover')],
  ['tokens revoked, by a revocation, a logout or a second use of their code', monitor.counts.revokedTokens],
  ['requests with a revoked token, at once', monitor.counts.immediateChecks],
  ['requests with a revoked token, 10 to 20 seconds later', monitor.counts.laterChecks],
  ['of these accepted', countFailures('token accepted after its revocation')],
  ['logouts', counts.logouts ?? 0], ['of these with the session still active', countFailures('session active after its logout')],
  ...(receiver ? [
    ['logout tokens expected', receiver.counts.expected], ['of these lost', countFailures('logout token lost')],
    ['logout tokens received more than once', receiver.counts.duplicates],
  ] : []),
  ['failovers', failovers.count()], ['of these not caused by the run', failovers.countUnexpected()],
  ['violations that Redis permits', classified.length - failures.length],
];
const table = (heads, lines) => [heads, heads.map(() => '---'), ...lines].map((line) => `| ${line.join(' | ')} |`).join('\n');
const report = `${table(['what', 'how many'], rows)}\n\n${table(
  ['fault', 'times', 'seconds each', 'logins completed meanwhile', 'requests repeated', 'violations'],
  Object.entries(totals).map(([name, total]) => [name, total.times, (total.seconds / total.times).toFixed(1), total.completed, total.retries, total.violations]),
)}\n\n${seconds.toFixed(0)} s, ${((counts.completed ?? 0) / seconds).toFixed(0)} logins a second, seed ${options.seed}.\n`;
process.stdout.write(report);
for (const { what, why, from, at, permitted } of classified) {
  process.stdout.write(`${permitted ? 'permitted: ' : ''}${what}${why ? `: ${why}` : ''}; ${new Date(from).toISOString()} to ${new Date(at).toISOString()}\n`);
}
if (classified.length) process.stdout.write(`failovers: ${failovers.summary()}\n`);
if (options.table) writeFileSync(options.table, report);
process.exit(failures.length ? 1 : 0);
