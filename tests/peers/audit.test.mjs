// The audit log of a real process: killed and started again, forged by hand, and on a device that is always full.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { freePorts, oidcConnector, program, random, startHub, waitUntil } from './harness.mjs';

const folder = mkdtempSync(path.join(tmpdir(), 'passerelle-audit-'));
test.after(() => rmSync(folder, { recursive: true, force: true }));

/** `more` are further options of `startHub`. */
async function start(name, file, settings = '', more = {}) {
  const [port, privatePort] = await freePorts(2);
  const redirectUri = `http://localhost:${port}/sp/callback`;
  const hub = await startHub(name, {
    port, privatePort,
    sps: [{ id: 'alpha', secret: 'x'.repeat(40), redirectUris: [redirectUri] }],
    connectors: { nowhere: oidcConnector('http://localhost:9') },
    settings: `audit.sink = "file"\naudit.path = ${JSON.stringify(file)}\n${settings}`,
    ...more,
  });
  const ask = () => fetch(`${hub.issuer}/authorize?${new URLSearchParams({
    client_id: 'alpha', redirect_uri: redirectUri, response_type: 'code', scope: 'openid', acr_values: 'eidas1',
    state: random(32), nonce: random(32),
  })}`, { redirect: 'manual' });
  return { hub, ask };
}

const verify = (...args) => {
  const { status, stdout } = spawnSync(program, ['audit', 'verify', '--json', ...args], { encoding: 'utf8' });
  return { status, report: JSON.parse(stdout || '{}') };
};

test('a process that is killed leaves an intact log, and a forged line is found', async () => {
  const file = path.join(folder, 'audit.jsonl');
  const { hub, ask } = await start('audit', file);
  try {
    assert.equal((await ask()).status, 303);
    const written = () => readFileSync(file, 'utf8').includes('authorization_received');
    for (let tries = 0; !written(); tries += 1) {
      assert.ok(tries < 200, 'the line is not written');
      await ask();
    }
    const jwks = path.join(folder, 'jwks.json');
    writeFileSync(jwks, await (await fetch(`${hub.issuer}/jwks`)).text());
    hub.signal('SIGKILL');
    await hub.exited;

    const after = verify(file, '--jwks', jwks);
    assert.deepEqual([after.status, after.report.result, after.report.last_signed.seq], [2, 'unproven', 1], 'not signed since the start');
    assert.deepEqual(verify(file, '--keys', path.join(hub.folder, 'keys')), after, 'the folder has the same keys');
    const text = readFileSync(file, 'utf8');
    const forged = path.join(folder, 'forged.jsonl');
    writeFileSync(forged, text.replace('"version":"', '"version":"9'));
    const found = verify(forged, '--jwks', jwks);
    assert.deepEqual([found.status, found.report.findings[0].kind], [1, 'changed']);
    writeFileSync(forged, text.split('\n').slice(0, 1).join('\n') + '\n');
    const log = path.join(folder, 'hub.log');
    writeFileSync(log, hub.log());
    assert.equal(verify(forged, '--jwks', jwks).status, 2, 'there is no checkpoint');
    assert.equal(verify(path.join(folder, 'nowhere.jsonl'), '--jwks', jwks).status, 2);
    writeFileSync(forged, text.split('\n').slice(0, 2).join('\n') + '\n');
    assert.equal(verify(forged, '--jwks', jwks, '--checkpoints', log).status, 0, 'the log has its checkpoint');
  } finally {
    await hub.stop();
  }
});

test('a full device takes no new logins, or loses lines, as the operator wishes, and says so', async () => {
  for (const [policy, status] of [['stop', 503], ['go_on', 303]]) {
    const file = path.join(folder, `full-${policy}.jsonl`);
    symlinkSync('/dev/full', file);
    const { hub, ask } = await start(`audit-full-${policy}`, file, `audit.when_full = "${policy}"\n`);
    try {
      const degraded = async () => (await (await fetch(`${hub.privateBase}/readyz`)).json()).degraded?.audit?.[0] ?? '';
      for (let tries = 0; !(await degraded()); tries += 1) assert.ok(tries < 500, 'nothing is said');
      assert.match(await degraded(), /can't be written: No space left/);
      const answer = await ask();
      assert.equal(answer.status, status, policy);
      if (status === 503) {
        assert.match(await answer.text(), /Y500110/);
        assert.ok(answer.headers.get('retry-after'));
      }
      // No other hub admits logins, so this one stays ready for codes, tokens and logouts.
      const readyz = await fetch(`${hub.privateBase}/readyz`);
      const { ready, degraded: checks } = await readyz.json();
      assert.deepEqual([readyz.status, ready], [200, true], policy);
      const said = checks.logins?.[0] ?? '';
      if (policy === 'stop') assert.match(said, /^No login is admitted: the audit log can't be written: No space left.*; fix: free space/);
      else assert.equal(said, '', 'logins continue');
      const admitted = policy === 'stop' ? 0 : 1;
      assert.match(await (await fetch(`${hub.privateBase}/metrics`)).text(), new RegExp(`^passerelle_logins_admitted ${admitted}$`, 'm'));
      assert.match(await (await fetch(`${hub.privateBase}/metrics`)).text(), /passerelle_audit_write_errors_total [1-9]/);
      assert.match(hub.log(), /Y500110/);
    } finally {
      await hub.stop();
    }
  }
});

test('a hub on a full device leaves the logins to a hub of the same Redis, and serves while there is none', async () => {
  const [storePort, front] = await freePorts(2);
  // They serve one address, behind a load balancer that this test leaves out.
  const shared = { base: `http://localhost:${front}`, files: { 'store.key': random(32) } };
  const redis = spawn('redis-server', ['--port', storePort, '--bind', '127.0.0.1', '--save', '', '--dir', folder, '--maxmemory-policy', 'noeviction'].map(String), { stdio: 'ignore' });
  const store = `store.redis = { nodes = ["127.0.0.1:${storePort}"], encryption_keys = [{ file = "store.key" }] }\n`;
  const full = path.join(folder, 'full-beside.jsonl');
  symlinkSync('/dev/full', full);
  const hubs = [];
  const join = async (...args) => {
    const { hub } = await start(...args, shared);
    hubs.push(hub);
    return hub;
  };
  const admits = async (hub) => /^passerelle_logins_admitted 1$/m.test(await (await fetch(`${hub.privateBase}/metrics`)).text());
  try {
    const stopped = await join('audit-full-beside', full, `audit.when_full = "stop"\n${store}`);
    const readyz = async () => {
      const response = await fetch(`${stopped.privateBase}/readyz`);
      return { status: response.status, ...await response.json() };
    };
    await waitUntil(async () => (await readyz()).degraded?.logins, 'the full device is noticed');
    assert.equal((await readyz()).status, 200, 'it is the only hub');
    const healthy = await join('audit-beside', path.join(folder, 'beside.jsonl'), store);
    await waitUntil(async () => (await readyz()).status === 503, 'another hub admits logins');
    assert.match((await readyz()).not_ready.logins, /No login is admitted: the audit log can't be written: No space left/);
    assert.deepEqual([await admits(stopped), await admits(healthy)], [false, true]);
    healthy.signal('SIGKILL');
    await waitUntil(async () => (await readyz()).status === 200, 'no hub admits logins any more');
    assert.equal(await admits(stopped), false);
  } finally {
    await Promise.all(hubs.map((hub) => hub.stop()));
    redis.kill('SIGTERM');
  }
});
