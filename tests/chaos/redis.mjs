// A Redis as docs/redis.md advises it: a primary with two replicas, three Sentinels, and a network between them and everybody
// else that can be held up.
import { mkdirSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import path from 'node:path';
import { freePorts } from '../peers/harness.mjs';
import { Actor, until } from './actor.mjs';

const NAME = 'hubs';
const SENTINELS = 3;
const SERVERS = 3;

/** One command of the Redis protocol, on a connection of its own; the answer as it stands on the wire. */
const redis = (port, ...words) => new Promise((resolve, reject) => {
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
  socket.on('close', () => { clearTimeout(over); resolve(answer); });
});
const ask = (port, ...words) => redis(port, ...words).catch(() => '');

/** The way to one server, for hubs, Sentinels and the other servers alike: who holds it parts the server from all of them. */
function way(folder, port, to) {
  const file = path.join(folder, `way-${port}.cfg`);
  writeFileSync(file, `global
  maxconn 2000
defaults
  mode tcp
  timeout connect 2s
  timeout client 1h
  timeout server 1h
listen redis
  bind 127.0.0.1:${port}
  server redis 127.0.0.1:${to}
`);
  return new Actor(`way-${port}`, 'haproxy', ['-db', '-f', file]);
}

/** Servers are named by the port of the way to them, as they announce it. */
export async function startRedis(folder) {
  const ports = await freePorts(2 * SERVERS + SENTINELS);
  const watching = ports.splice(0, SENTINELS);
  const pairs = Array.from({ length: SERVERS }, (_, index) => ports.slice(2 * index, 2 * index + 2));
  const first = pairs[0][0];
  const servers = new Map(pairs.map(([port, own], index) => {
    const dir = path.join(folder, `redis-${port}`);
    mkdirSync(dir);
    const server = new Actor(`redis-${port}`, 'redis-server', [
      '--port', own, '--bind', '127.0.0.1', '--dir', dir, '--save', '', '--appendonly', 'yes', '--appendfsync', 'everysec',
      '--maxmemory-policy', 'noeviction', '--repl-diskless-sync-delay', 0, '--replica-announce-ip', '127.0.0.1', '--replica-announce-port', port,
      '--min-replicas-to-write', 1, '--min-replicas-max-lag', 2, ...(index ? ['--replicaof', '127.0.0.1', first] : []),
    ]);
    return [port, Object.assign(server, { port: own, way: way(folder, port, own) })];
  }));
  const guards = watching.map((port) => {
    const file = path.join(folder, `sentinel-${port}.conf`);
    writeFileSync(file, `port ${port}\nbind 127.0.0.1\ndir ${folder}\nsentinel monitor ${NAME} 127.0.0.1 ${first} 2
sentinel down-after-milliseconds ${NAME} 1500\nsentinel failover-timeout ${NAME} 6000\nsentinel parallel-syncs ${NAME} 1\n`);
    return new Actor(`sentinel-${port}`, 'redis-server', [file, '--sentinel']);
  });
  for (const server of servers.values()) { server.start(); server.way.start(); }
  const about = (port) => (servers.has(port) ? ask(servers.get(port).port, 'INFO', 'replication') : '');
  const online = (text) => (text.match(/state=online/g) ?? []).length;
  await until('redis', async () => online(await about(first)) === SERVERS - 1);
  guards.forEach((guard) => guard.start());
  const primary = async () => {
    // The first Sentinel may itself be slow to hear of it: what two of them say counts.
    const answers = await Promise.all(watching.map(async (port) => {
      const answer = await ask(port, 'SENTINEL', 'get-master-addr-by-name', NAME);
      return Number(answer.match(/\$\d+\r\n(\d{2,5})\r\n/)?.[1] ?? 0);
    }));
    return answers.find((port, index) => port && answers.indexOf(port) !== index) ?? 0;
  };
  const settled = async () => {
    const text = await about(await primary());
    return /role:master/.test(text) && online(text) === SERVERS - 1;
  };
  await until('sentinels', async () => {
    const known = await Promise.all(watching.map((port) => Promise.all([ask(port, 'SENTINEL', 'sentinels', NAME), ask(port, 'SENTINEL', 'replicas', NAME)])));
    const seen = (answer) => (answer.match(/runid/g) ?? []).length;
    return known.every(([others, replicas]) => seen(others) >= SENTINELS - 1 && seen(replicas) >= SERVERS - 1) && settled();
  });
  return {
    name: NAME,
    sentinels: watching,
    servers,
    guards,
    primary,
    /** The primary has all its replicas: whatever was parted has come back. */
    settled: () => until('a primary with its replicas', settled, 120),
    /** Until the Sentinels name another one. */
    moved: (from) => until('a failover', async () => ![0, from].includes(await primary()), 120),
    /** As docs/redis.md has it for maintenance: nothing more is written, the replicas have all, and then they change places. */
    async failover(from, prepared = true) {
      if (!prepared) { await ask(watching[0], 'SENTINEL', 'failover', NAME); return undefined; }
      const { port } = servers.get(from);
      await ask(port, 'CLIENT', 'PAUSE', '20000', 'WRITE');
      await until('the replicas', async () => {
        const text = await about(from);
        const end = Number(text.match(/master_repl_offset:(\d+)/)?.[1]);
        const offsets = [...text.matchAll(/state=online,offset=(\d+)/g)].map(([, offset]) => Number(offset));
        return offsets.length > 0 && offsets.every((offset) => offset >= end);
      });
      await ask(watching[0], 'SENTINEL', 'failover', NAME);
      // What is held there is refused when no server replicates it any more; the Sentinels can turn it into a replica then.
      return () => until('the old primary is left', async () => online(await about(from)) === 0).then(() => ask(port, 'CLIENT', 'UNPAUSE'));
    },
    stop: () => Promise.all([...guards, ...[...servers.values()].flatMap((server) => [server, server.way])].map((actor) => actor.end('SIGKILL'))),
  };
}
