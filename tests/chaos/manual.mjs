// `tests/chaos/run --manual`: the participants of the chaos run and a service provider with pages, until Ctrl-C. The operator causes
// the faults.
import { openSync, readSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePorts } from '../peers/harness.mjs';
import { startService } from '../peers/real-sp.mjs';
import { startCluster } from './cluster.mjs';

let [cluster, stopping] = [null, false];
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.on(signal, async () => {
    // A second signal, or one during the start, ends the run immediately.
    if (!cluster || stopping) process.exit(1);
    stopping = true;
    await cluster.stop();
    process.exit(0);
  });
}
const print = (...lines) => process.stdout.write(`${lines.join('\n')}\n`);

const [port] = await freePorts(1);
const serviceUrl = `http://localhost:${port}`;
cluster = await startCluster({ service: { redirectUri: `${serviceUrl}/callback`, postLogoutUri: `${serviceUrl}/out` } });
const { hubs, store } = cluster;

/** Returns the requests that the balancer has logged since the last call. */
const log = openSync(cluster.balancer.log, 'r');
let incompleteLine = '';
function readForwardedRequests() {
  const buffer = Buffer.alloc(1 << 20);
  const lines = (incompleteLine + buffer.toString('utf8', 0, readSync(log, buffer))).split('\n');
  incompleteLine = lines.pop();
  return lines.map((line) => line.match(/^(GET|POST|HEAD) (\S+) (-?\d+) (\S+)$/)).filter(Boolean)
    .map(([, method, path, status, hub]) => ({ request: `${method} ${path.replace(/[\w-]{20,}/g, '…')} ${status}`, hub }));
}
await startService({ port, issuer: `${cluster.base}/api/v2`, ...cluster.sp, readForwardedRequests });

const servers = [...store.servers];
print(
  '', `Sign in:  ${serviceUrl}/`, '',
  `HAProxy in front of the hubs: ${cluster.base}   its statistics: ${cluster.statistics}/   the identity provider: ${cluster.providerBase}`,
  ...hubs.map((hub) => `${hub.name}: public 127.0.0.1:${hub.port}, private http://127.0.0.1:${hub.privatePort}/readyz   log ${hub.log}`),
  ...servers.map(([name, server]) => `redis ${name}: without its proxy 127.0.0.1:${server.port}`),
  `sentinels: ${store.sentinelPorts.join(', ')}   the primary is redis ${await store.primary()}`,
  '', 'Cause faults by these commands. A process that ended restarts after five seconds.',
  ...hubs.map((hub) => `  kill -9 ${hub.child.pid}     # ${hub.name}; without -9 it shuts down in order`),
  ...servers.map(([name, server]) => `  kill -9 ${server.child.pid}     # redis ${name}`),
  ...servers.map(([name, server]) => `  kill -STOP ${server.proxy.child.pid}   # interrupts the network to redis ${name}; -CONT restores it`),
  '', 'Ctrl-C stops all processes and removes all files.',
);

/** Restarts the process whenever it ends, as a service manager does. */
async function keepRunning(process) {
  for (;;) {
    const exit = await process.exited;
    if (stopping) return;
    print(`${process.name} ended (${exit})`);
    await sleep(5000);
    if (stopping) return;
    process.start();
    print(`${process.name} runs again: kill -9 ${process.child.pid}`);
  }
}
async function reportPrimary() {
  for (let known = await store.primary(); ; await sleep(250)) {
    const now = await store.primary();
    if (now && now !== known) print(`the primary is redis ${known = now}`);
  }
}
await Promise.all([reportPrimary(), ...hubs.map(keepRunning), ...servers.map(([, server]) => keepRunning(server)), ...store.sentinels.map(keepRunning)]);
