// The Redis of the run, as docs/redis.md recommends it: a primary with two replicas, and three Sentinels. Hubs, Sentinels and the
// other servers reach each server through its own proxy; a suspended proxy interrupts the network to that server.
import { mkdirSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import path from 'node:path';
import { freePorts } from '../peers/harness.mjs';
import { ManagedProcess, waitUntil } from './managed-process.mjs';

const PRIMARY_NAME = 'hubs';
const SENTINELS = 3;
const SERVERS = 3;

/** Sends one command on a new connection. Returns the response as the Redis protocol encodes it. */
const sendCommand = (port, ...words) => new Promise((resolve, reject) => {
  const socket = connect(port, '127.0.0.1');
  let response = '';
  socket.setTimeout(2000, () => socket.destroy(new Error('no response')));
  socket.on('connect', () => socket.write(`${words.join(' ')}\r\n`));
  // A Sentinel has no QUIT: the response ends when no data arrives for 30 ms.
  let idleTimer;
  socket.on('data', (data) => {
    response += data;
    clearTimeout(idleTimer);
    idleTimer = setTimeout(() => socket.destroy(), 30);
  });
  socket.on('error', reject);
  socket.on('close', () => { clearTimeout(idleTimer); resolve(response); });
});
/** Like `sendCommand`, but returns an empty response if the server is unreachable. */
const query = (port, ...words) => sendCommand(port, ...words).catch(() => '');

/** Creates the proxy between one server and all its clients: hubs, Sentinels and the other servers. */
function createProxy(folder, port, serverPort) {
  const file = path.join(folder, `proxy-${port}.cfg`);
  writeFileSync(file, `global
  maxconn 2000
defaults
  mode tcp
  timeout connect 2s
  timeout client 1h
  timeout server 1h
listen redis
  bind 127.0.0.1:${port}
  server redis 127.0.0.1:${serverPort}
`);
  return new ManagedProcess(`proxy-${port}`, 'haproxy', ['-db', '-f', file]);
}

/** Starts the servers and the Sentinels. A server is named by the port of its proxy, which it announces as its own. */
export async function startRedis(folder) {
  const ports = await freePorts(2 * SERVERS + SENTINELS);
  const sentinelPorts = ports.splice(0, SENTINELS);
  const portPairs = Array.from({ length: SERVERS }, (_, index) => ports.slice(2 * index, 2 * index + 2));
  const first = portPairs[0][0];
  const servers = new Map(portPairs.map(([port, serverPort], index) => {
    const dir = path.join(folder, `redis-${port}`);
    mkdirSync(dir);
    const server = new ManagedProcess(`redis-${port}`, 'redis-server', [
      '--port', serverPort, '--bind', '127.0.0.1', '--dir', dir, '--save', '', '--appendonly', 'yes', '--appendfsync', 'everysec',
      '--maxmemory-policy', 'noeviction', '--repl-diskless-sync-delay', 0, '--replica-announce-ip', '127.0.0.1', '--replica-announce-port', port,
      '--min-replicas-to-write', 1, '--min-replicas-max-lag', 2, ...(index ? ['--replicaof', '127.0.0.1', first] : []),
    ]);
    return [port, Object.assign(server, { port: serverPort, proxy: createProxy(folder, port, serverPort) })];
  }));
  const sentinels = sentinelPorts.map((port) => {
    const file = path.join(folder, `sentinel-${port}.conf`);
    writeFileSync(file, `port ${port}\nbind 127.0.0.1\ndir ${folder}\nsentinel monitor ${PRIMARY_NAME} 127.0.0.1 ${first} 2
sentinel down-after-milliseconds ${PRIMARY_NAME} 1500\nsentinel failover-timeout ${PRIMARY_NAME} 6000\nsentinel parallel-syncs ${PRIMARY_NAME} 1\n`);
    return new ManagedProcess(`sentinel-${port}`, 'redis-server', [file, '--sentinel']);
  });
  for (const server of servers.values()) { server.start(); server.proxy.start(); }
  const replicationInfo = (port) => (servers.has(port) ? query(servers.get(port).port, 'INFO', 'replication') : '');
  const countOnlineReplicas = (info) => (info.match(/state=online/g) ?? []).length;
  await waitUntil('redis', async () => countOnlineReplicas(await replicationInfo(first)) === SERVERS - 1);
  sentinels.forEach((sentinel) => sentinel.start());
  const primary = async () => {
    // One Sentinel may not know of a failover yet: two of them must name the same primary.
    const named = await Promise.all(sentinelPorts.map(async (port) => {
      const response = await query(port, 'SENTINEL', 'get-master-addr-by-name', PRIMARY_NAME);
      return Number(response.match(/\$\d+\r\n(\d{2,5})\r\n/)?.[1] ?? 0);
    }));
    return named.find((port, index) => port && named.indexOf(port) !== index) ?? 0;
  };
  const hasAllReplicas = async () => {
    const info = await replicationInfo(await primary());
    return /role:master/.test(info) && countOnlineReplicas(info) === SERVERS - 1;
  };
  await waitUntil('sentinels', async () => {
    const responses = await Promise.all(sentinelPorts.map((port) => Promise.all([query(port, 'SENTINEL', 'sentinels', PRIMARY_NAME), query(port, 'SENTINEL', 'replicas', PRIMARY_NAME)])));
    const count = (response) => (response.match(/runid/g) ?? []).length;
    return responses.every(([others, replicas]) => count(others) >= SENTINELS - 1 && count(replicas) >= SERVERS - 1) && hasAllReplicas();
  });
  return {
    name: PRIMARY_NAME,
    sentinelPorts,
    servers,
    sentinels,
    /** Returns the name of the primary, 0 while fewer than two Sentinels agree. */
    primary,
    /** Waits until all replicas are connected to the primary. */
    waitUntilReplicated: () => waitUntil('a primary with its replicas', hasAllReplicas, 120),
    /** Waits until the Sentinels name another primary than `old`. */
    waitUntilReplaced: (old) => waitUntil('a failover', async () => ![0, old].includes(await primary()), 120),
    /**
     * Orders a failover. If it is `prepared`, as docs/redis.md describes for maintenance, the primary first holds writes back
     * until its replicas have all data. The returned function ends the pause after the failover: the old primary refuses the writes.
     */
    async failover(old, prepared = true) {
      if (!prepared) { await query(sentinelPorts[0], 'SENTINEL', 'failover', PRIMARY_NAME); return undefined; }
      const { port } = servers.get(old);
      await query(port, 'CLIENT', 'PAUSE', '20000', 'WRITE');
      await waitUntil('the replicas', async () => {
        const info = await replicationInfo(old);
        const end = Number(info.match(/master_repl_offset:(\d+)/)?.[1]);
        const offsets = [...info.matchAll(/state=online,offset=(\d+)/g)].map(([, offset]) => Number(offset));
        return offsets.length > 0 && offsets.every((offset) => offset >= end);
      });
      await query(sentinelPorts[0], 'SENTINEL', 'failover', PRIMARY_NAME);
      // Without replicas the old primary refuses the paused writes (min-replicas-to-write). The Sentinels make it a replica after that.
      return () => waitUntil('the replicas leave the old primary', async () => countOnlineReplicas(await replicationInfo(old)) === 0).then(() => query(port, 'CLIENT', 'UNPAUSE'));
    },
    stop: () => Promise.all([...sentinels, ...[...servers.values()].flatMap((server) => [server, server.proxy])].map((process) => process.stop('SIGKILL'))),
  };
}
