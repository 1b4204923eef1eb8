// A confined hub whose store is Redis: one server, and a server that a Sentinel names, over TLS. Both are restarted under it.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { discoverHub, buildAuthorizationRequest, startFederation } from './federation.mjs';
import { Browser, freePorts, random, signIn } from './harness.mjs';

/** An authority, and a certificate of it for 127.0.0.1. */
function certify(folder) {
  const openssl = (...args) => execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });
  const key = (name) => ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', `${name}.key`];
  openssl('req', '-x509', ...key('ca'), '-out', 'ca.crt', '-subj', '/CN=authority', '-days', '2');
  openssl('req', '-new', ...key('server'), '-out', 'server.csr', '-subj', '/CN=localhost');
  writeFileSync(path.join(folder, 'server.ext'), 'subjectAltName = IP:127.0.0.1\n');
  openssl('x509', '-req', '-in', 'server.csr', '-CA', 'ca.crt', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '2', '-extfile', 'server.ext', '-out', 'server.crt');
}

/** A server that can be restarted, with what it has on its disk; and a Sentinel with its name, if `sentinel`. */
async function startRedis({ tls, sentinel }) {
  const folder = mkdtempSync(path.join(tmpdir(), 'passerelle-redis-'));
  const [port, watching] = await freePorts(2);
  if (tls) certify(folder);
  const listen = (own) => (tls
    ? { port: 0, 'tls-port': own, 'tls-cert-file': 'server.crt', 'tls-key-file': 'server.key', 'tls-ca-cert-file': 'ca.crt', 'tls-auth-clients': 'no', 'tls-replication': 'yes' }
    : { port: own });
  const write = (name, settings, more = '') => writeFileSync(path.join(folder, name), `${Object.entries(settings).map((line) => line.join(' ')).join('\n')}\n${more}`);
  write('redis.conf', { bind: '127.0.0.1', ...listen(port), save: '""', appendonly: 'yes', 'maxmemory-policy': 'noeviction' });
  // It stays the primary while it is restarted.
  write('sentinel.conf', { bind: '127.0.0.1', ...listen(watching) }, `sentinel monitor hubs 127.0.0.1 ${port} 1\nsentinel down-after-milliseconds hubs 600000\n`);
  const children = new Set();
  const start = (...args) => {
    const child = spawn('redis-server', args, { cwd: folder, stdio: 'ignore' });
    children.add(child);
    const orphan = () => child.kill('SIGKILL');
    process.once('exit', orphan);
    const ended = new Promise((resolve) => { child.once('exit', resolve); }).then(() => { process.off('exit', orphan); children.delete(child); });
    return { end() { child.kill('SIGTERM'); return ended; } };
  };
  let server = start('redis.conf');
  if (sentinel) start('sentinel.conf', '--sentinel');
  return {
    settings: `[store.redis]
nodes = ["127.0.0.1:${sentinel ? watching : port}"]
${sentinel ? 'mode = "sentinel"\nprimary = "hubs"' : ''}
${tls ? 'tls = true\nca = "redis-ca.crt"' : ''}
encryption_keys = [{ file = "store.key" }]
[process]
confinement = "required"
`,
    files: { 'store.key': random(32), ...(tls && { 'redis-ca.crt': readFileSync(path.join(folder, 'ca.crt'), 'utf8') }) },
    end: () => server.end(),
    start() { server = start('redis.conf'); },
    async stop() {
      for (const child of children) child.kill('SIGKILL');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

for (const [name, options] of [['a server', {}], ['a server that a Sentinel names, over TLS', { tls: true, sentinel: true }]]) {
  test(`a confined hub with ${name} signs people in, and again after the server was restarted`, async () => {
    const redis = await startRedis(options);
    let federation;
    try {
      federation = await startFederation(`hub-confined-redis${options.tls ? '-tls' : ''}`, {}, redis);
      const { hub, sp } = federation;
      assert.match(readFileSync(`/proc/${hub.pid}/status`, 'utf8'), /^Seccomp:\t2$/m);
      const client = await discoverHub(hub, sp);
      const login = async () => {
        const redirect = await signIn(new Browser(), (await buildAuthorizationRequest(client, sp)).url, { stopAt: sp.redirectUri });
        assert.match(redirect, /[?&]code=/);
      };
      await login();
      await redis.end();
      await assert.rejects(login, 'the store is what the server keeps');
      redis.start();
      const deadline = performance.now() + 60_000;
      for (;;) {
        try {
          await login();
          break;
        } catch (error) {
          if (performance.now() > deadline) throw error;
          await new Promise((resolve) => { setTimeout(resolve, 200); });
        }
      }
    } finally {
      await federation?.stop();
      await redis.stop();
    }
  });
}
