// Who plays in the chaos run: a Redis with replicas and Sentinels, a load balancer, a real identity provider, and hubs that
// share all they know.
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { configure, freePorts, oidcConnector, program, random, text } from '../peers/harness.mjs';
import { Actor, until } from './actor.mjs';
import { startRedis } from './redis.mjs';

/** The balancer: no stickiness, health by /readyz, and nothing is sent twice but what never left. */
async function startBalancer(folder, [port, statistics], hubs) {
  const file = path.join(folder, 'haproxy.cfg');
  // The path alone: what follows it carries codes and states.
  writeFileSync(file, `global
  maxconn 4000
  log stdout format raw local0
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
  log global
  log-format "%HM %HPO %ST %s"
  default_backend hubs
frontend statistics
  bind 127.0.0.1:${statistics}
  stats enable
  stats uri /
  stats refresh 2s
backend hubs
  balance roundrobin
  option httpchk GET /readyz
  http-response set-header X-Served-By %s
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

async function startProvider(port, base) {
  const script = path.join(path.dirname(fileURLToPath(import.meta.url)), 'idp.mjs');
  const actor = new Actor('provider', process.execPath, [script, port, `${base}/api/v2/callback/real`, `${base}/api/v2/session/end/real`]).start();
  await until('the identity provider', () => fetch(`http://localhost:${port}/.well-known/openid-configuration`).then((answer) => answer.ok, () => false));
  return actor;
}

/**
 * The whole cast, ready. `programs`: what a hub may be started as; the first one begins, an upgrade goes on to the next.
 * `service`: its redirect and logout addresses, on which nothing has to listen. `extra`: more lines of its file.
 */
export async function startCast({ nodes = 3, programs = [program], settings = '', service, extra = '' } = {}) {
  const [port, statistics, providerPort, ...rest] = await freePorts(3 + 2 * nodes);
  const base = `http://localhost:${port}`;
  const sp = { id: 'town-hall', secret: random(32), redirectUri: `${base}/sp/callback`, postLogoutUri: `${base}/sp/out`, ...service };
  const config = configure({
    port, privatePort: rest[0],
    sps: [{ id: sp.id, secret: sp.secret, redirectUris: [sp.redirectUri], postLogoutUris: [sp.postLogoutUri], extra }],
    connectors: { sandbox: SANDBOX, real: oidcConnector(`http://localhost:${providerPort}`, 'userinfo_signed_response_alg = "ES256"') },
    settings: `sandbox = true\n${settings}`,
    files: { 'store.key': random(48) },
  });
  // What a node keeps for itself is in a folder of its own: the same files are given to all of them.
  const folders = Array.from({ length: nodes }, (_, index) => `${config.folder}-hub-${index + 1}`);
  // After the processes, which are ended first.
  process.once('exit', () => [config.folder, ...folders].forEach((folder) => rmSync(folder, { recursive: true, force: true, maxRetries: 5 })));
  const store = await startRedis(config.folder);
  const provider = await startProvider(providerPort, base);
  const main = path.join(config.folder, 'passerelle.toml');
  writeFileSync(main, `${readFileSync(main, 'utf8')}
[store.redis]
mode = "sentinel"
primary = ${text(store.name)}
nodes = [${store.sentinels.map((at) => text(`127.0.0.1:${at}`)).join(', ')}]
encryption_keys = [{ file = "store.key" }]
`);
  const hubs = folders.map((folder, index) => {
    cpSync(config.folder, folder, { recursive: true, filter: (from) => !/redis-|sentinel-|way-|haproxy/.test(path.basename(from)) });
    const [listen, privatePort] = rest.slice(2 * index, 2 * index + 2);
    const actor = new Actor(`hub-${index + 1}`, programs[0], ['serve', '--config', folder], {
      PASSERELLE_PUBLIC__LISTEN: `127.0.0.1:${listen}`, PASSERELLE_PRIVATE__LISTEN: `127.0.0.1:${privatePort}`, NO_COLOR: '1',
    });
    const isReady = () => fetch(`http://127.0.0.1:${privatePort}/readyz`).then((answer) => answer.ok, () => false);
    return Object.assign(actor, {
      port: listen, privatePort, turn: 0, isReady,
      ready: () => until(`${actor.name} ready`, isReady, 120),
      /** From now on started as the next program. */
      upgrade() { this.turn += 1; this.command = programs[this.turn % programs.length]; },
    });
  });
  hubs.forEach((hub) => hub.start());
  await Promise.all(hubs.map((hub) => hub.ready()));
  const balancer = await startBalancer(config.folder, [port, statistics], hubs);
  return {
    base, sp, hubs, store, balancer, provider,
    providerBase: `http://localhost:${providerPort}`, statistics: `http://localhost:${statistics}`,
    async stop() {
      await Promise.all([balancer.end('SIGKILL'), provider.end('SIGKILL'), ...hubs.map((hub) => hub.end())]);
      await store.stop();
    },
  };
}
