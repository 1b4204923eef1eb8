// Who plays in the chaos run: a Redis with a replica and three Sentinels, a load balancer, and hubs that share all they know.
import { spawn } from 'node:child_process';
import { cpSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { artifacts, configure, freePorts, program, random, text } from '../peers/harness.mjs';

/** A process that is started, ended in any way, and started again; its output is appended to one log. */
class Actor {
  constructor(name, command, args, env = {}) {
    Object.assign(this, { name, command, args, env, child: null });
    this.log = path.join(artifacts, `chaos-${name}.log`);
    writeFileSync(this.log, '');
    process.once('exit', () => this.child?.kill('SIGKILL'));
  }

  start() {
    const out = openSync(this.log, 'a');
    const child = spawn(this.command, this.args, { stdio: ['ignore', out, out], env: { ...process.env, ...this.env } });
    this.child = child;
    this.exited = new Promise((resolve) => {
      child.once('error', (error) => resolve(String(error)));
      child.once('exit', (code, signal) => resolve(signal ?? code));
    }).then((how) => { if (this.child === child) this.child = null; return how; });
    return this;
  }

  /** Ends it, and says how it ended. */
  async end(signal = 'SIGTERM', patience = 40) {
    if (!this.child) return null;
    this.child.kill(signal);
    const late = setTimeout(() => this.child?.kill('SIGKILL'), patience * 1000);
    const how = await this.exited;
    clearTimeout(late);
    return how;
  }
}

async function until(what, condition, seconds = 30) {
  for (const end = performance.now() + seconds * 1000; performance.now() < end; await sleep(50)) {
    if (await condition()) return;
  }
  throw new Error(`${what}: not within ${seconds} s; see ${artifacts}/chaos-*.log`);
}

/** One command of the Redis protocol, on a connection of its own; the answer as it stands on the wire. */
export const redis = (port, ...words) => new Promise((resolve, reject) => {
  const socket = connect(port, '127.0.0.1');
  let answer = '';
  socket.setTimeout(2000, () => socket.destroy(new Error('no answer')));
  socket.on('connect', () => socket.write(`${words.join(' ')}\r\n`));
  // A Sentinel knows no QUIT: the answer is over when nothing more of it comes.
  let over;
  socket.on('data', (data) => {
    answer += data;
    clearTimeout(over);
    over = setTimeout(() => socket.destroy(), 30);
  });
  socket.on('error', reject);
  socket.on('close', () => resolve(answer));
});

/** A primary with a replica, and Sentinels that may put the one in the other's place. */
async function startRedis(folder, { sentinels = 3 } = {}) {
  const ports = await freePorts(2 + sentinels);
  const [first, second, ...watching] = ports;
  const server = (port, more) => {
    const dir = path.join(folder, `redis-${port}`);
    mkdirSync(dir);
    const args = ['--port', port, '--bind', '127.0.0.1', '--dir', dir, '--save', '', '--appendonly', 'no', '--repl-diskless-sync-delay', '0',
      '--maxmemory-policy', 'noeviction', ...more].map(String);
    return new Actor(`redis-${port}`, 'redis-server', args);
  };
  const servers = new Map([[first, server(first, [])], [second, server(second, ['--replicaof', '127.0.0.1', first])]]);
  const guards = watching.map((port) => {
    const file = path.join(folder, `sentinel-${port}.conf`);
    writeFileSync(file, `port ${port}\nbind 127.0.0.1\ndir ${folder}\nsentinel monitor hubs 127.0.0.1 ${first} ${Math.floor(sentinels / 2) + 1}
sentinel down-after-milliseconds hubs 1500\nsentinel failover-timeout hubs 6000\nsentinel parallel-syncs hubs 1\n`);
    return new Actor(`sentinel-${port}`, 'redis-server', [file, '--sentinel']);
  });
  for (const actor of servers.values()) actor.start();
  await until('redis', async () => (await redis(first, 'INFO', 'replication').catch(() => '')).includes('connected_slaves:1'));
  guards.forEach((guard) => guard.start());
  const primary = async () => {
    const answer = await redis(watching[0], 'SENTINEL', 'get-master-addr-by-name', 'hubs').catch(() => '');
    return Number(answer.match(/\$\d+\r\n(\d{2,5})\r\n/)?.[1] ?? 0);
  };
  const settled = async () => {
    const port = await primary();
    const about = port ? await redis(port, 'INFO', 'replication').catch(() => '') : '';
    return /role:master/.test(about) && /state=online/.test(about);
  };
  await until('sentinels', async () => {
    const known = await Promise.all(watching.map((port) => redis(port, 'SENTINEL', 'sentinels', 'hubs').catch(() => '')));
    return known.every((answer) => (answer.match(/runid/g) ?? []).length >= sentinels - 1) && settled();
  });
  return {
    sentinels: watching,
    primary,
    settled: () => until('a primary with its replica', settled, 60),
    server: (port) => servers.get(port),
    /** Asks the Sentinels to change places, as an operator does before maintenance. */
    failover: () => redis(watching[0], 'SENTINEL', 'failover', 'hubs'),
    stop: () => Promise.all([...guards, ...servers.values()].map((actor) => actor.end('SIGKILL'))),
  };
}

/** The balancer: no stickiness, health by /readyz, and nothing is sent twice but what never left. */
async function startBalancer(folder, port, hubs) {
  const file = path.join(folder, 'haproxy.cfg');
  writeFileSync(file, `global
  maxconn 4000
defaults
  mode http
  timeout connect 1s
  timeout client 30s
  timeout server 30s
  timeout http-request 10s
  retries 3
  option redispatch
  retry-on conn-failure
frontend public
  bind 127.0.0.1:${port}
  default_backend hubs
backend hubs
  balance roundrobin
  option httpchk GET /readyz
  default-server inter 200ms fall 1 rise 1
${hubs.map((hub) => `  server ${hub.name} 127.0.0.1:${hub.port} check port ${hub.privatePort}`).join('\n')}
`);
  const actor = new Actor('haproxy', 'haproxy', ['-db', '-f', file]).start();
  await until('the balancer', () => fetch(`http://127.0.0.1:${port}/`).then(() => true, () => false));
  return actor;
}

export const SANDBOX = `name = { en = "Sandbox", fr = "Bac à sable" }
levels = { lowest = "eidas1", highest = "eidas1" }
[kind.persona]
`;

/**
 * The whole cast, ready. `programs`: what a hub may be started as; the first one begins, an upgrade goes on to the next.
 */
export async function startCast({ nodes = 3, programs = [program], settings = '' } = {}) {
  const [port, ...rest] = await freePorts(1 + 2 * nodes);
  const redirectUri = `http://localhost:${port}/sp/callback`;
  const sp = { id: 'town-hall', secret: random(32), redirectUri, postLogoutUri: `http://localhost:${port}/sp/out` };
  const config = configure({
    port, privatePort: rest[0],
    sps: [{ id: sp.id, secret: sp.secret, redirectUris: [redirectUri], postLogoutUris: [sp.postLogoutUri] }],
    connectors: { sandbox: SANDBOX },
    settings: `sandbox = true\n${settings}`,
    files: { 'seal.key': random(48) },
  });
  const store = await startRedis(config.folder);
  const main = path.join(config.folder, 'passerelle.toml');
  writeFileSync(main, `${readFileSync(main, 'utf8')}
[store.redis]
mode = "sentinel"
primary = "hubs"
nodes = [${store.sentinels.map((at) => text(`127.0.0.1:${at}`)).join(', ')}]
seal_keys = [{ file = "seal.key" }]
`);
  const hubs = Array.from({ length: nodes }, (_, index) => {
    // What a node keeps for itself is in a folder of its own: the same files are given to all of them.
    const folder = path.join(config.folder, '..', `${path.basename(config.folder)}-hub-${index}`);
    cpSync(config.folder, folder, { recursive: true, filter: (from) => !/redis-|sentinel-|haproxy/.test(path.basename(from)) });
    const [listen, privatePort] = rest.slice(2 * index, 2 * index + 2);
    const actor = new Actor(`hub-${index}`, programs[0], ['serve', '--config', folder], {
      PASSERELLE_PUBLIC__LISTEN: `127.0.0.1:${listen}`, PASSERELLE_PRIVATE__LISTEN: `127.0.0.1:${privatePort}`,
    });
    const isReady = () => fetch(`http://127.0.0.1:${privatePort}/readyz`).then((answer) => answer.ok, () => false);
    return Object.assign(actor, {
      port: listen, privatePort, turn: 0,
      ready: () => until(`${actor.name} ready`, isReady, 60),
      /** From now on started as the next program. */
      upgrade() { this.turn += 1; this.command = programs[this.turn % programs.length]; },
    });
  });
  hubs.forEach((hub) => hub.start());
  await Promise.all(hubs.map((hub) => hub.ready()));
  const balancer = await startBalancer(config.folder, port, hubs);
  return {
    base: `http://localhost:${port}`, sp, hubs, store,
    async stop() {
      await Promise.all([balancer.end('SIGKILL'), ...hubs.map((hub) => hub.end())]);
      await store.stop();
      config.remove();
    },
  };
}
