// The cast of the chaos run, with a service to sign in at, to be hurt by hand until Ctrl-C: `tests/chaos/run --stay`.
import { openSync, readSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePorts } from '../peers/harness.mjs';
import { startService } from '../peers/real-sp.mjs';
import { startCast } from './cast.mjs';

let [cast, leaving] = [null, false];
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.on(signal, async () => {
    // A second one, or one before all are there, ends it the hard way.
    if (!cast || leaving) process.exit(1);
    leaving = true;
    await cast.stop();
    process.exit(0);
  });
}
const say = (...lines) => process.stdout.write(`${lines.join('\n')}\n`);

const [port] = await freePorts(1);
const here = `http://localhost:${port}`;
cast = await startCast({ service: { redirectUri: `${here}/callback`, postLogoutUri: `${here}/out` } });
const { hubs, store } = cast;

/** What the balancer has logged since the last time. */
const log = openSync(cast.balancer.log, 'r');
let rest = '';
function passedOn() {
  const buffer = Buffer.alloc(1 << 20);
  const lines = (rest + buffer.toString('utf8', 0, readSync(log, buffer))).split('\n');
  rest = lines.pop();
  return lines.map((line) => line.match(/^(GET|POST|HEAD) (\S+) (-?\d+) (\S+)$/)).filter(Boolean)
    .map(([, method, path, status, by]) => ({ what: `${method} ${path.replace(/[\w-]{20,}/g, '…')} ${status}`, by }));
}
await startService({ port, issuer: `${cast.base}/api/v2`, ...cast.sp, steps: passedOn });

const servers = [...store.servers];
say(
  '', `Sign in:  ${here}/`, '',
  `the hubs' address, by HAProxy: ${cast.base}   its statistics: ${cast.statistics}/   the real identity provider: ${cast.providerBase}`,
  ...hubs.map((hub) => `${hub.name}: public 127.0.0.1:${hub.port}, private http://127.0.0.1:${hub.privatePort}/readyz   log ${hub.log}`),
  ...servers.map(([way, server]) => `redis ${way}: itself on 127.0.0.1:${server.port}`),
  `sentinels: ${store.sentinels.join(', ')}   the primary is redis ${await store.primary()}`,
  '', 'Hurt it; what dies is started again after five seconds:',
  ...hubs.map((hub) => `  kill -9 ${hub.child.pid}     # ${hub.name}; without -9 it goes down in order`),
  ...servers.map(([way, server]) => `  kill -9 ${server.child.pid}     # redis ${way}`),
  ...servers.map(([way, server]) => `  kill -STOP ${server.way.child.pid}   # the network to redis ${way}; -CONT when it shall come back`),
  '', 'Ctrl-C ends it all, and leaves nothing behind.',
);

/** As a service manager does. */
async function restart(actor) {
  for (;;) {
    const how = await actor.exited;
    if (leaving) return;
    say(`${actor.name} ended (${how})`);
    await sleep(5000);
    if (leaving) return;
    actor.start();
    say(`${actor.name} runs again: kill -9 ${actor.child.pid}`);
  }
}
async function followPrimary() {
  for (let known = await store.primary(); ; await sleep(250)) {
    const now = await store.primary();
    if (now && now !== known) say(`the primary is redis ${known = now}`);
  }
}
await Promise.all([followPrimary(), ...hubs.map(restart), ...servers.map(([, server]) => restart(server)), ...store.guards.map(restart)]);
