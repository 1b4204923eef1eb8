// A hub that confines itself by Landlock and seccomp does all that a hub does, and nothing outside of its folders.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { discoverHub, buildAuthorizationRequest, startFederation } from './federation.mjs';
import { Browser, program, random, signIn, waitUntil } from './harness.mjs';

const SETTINGS = `[audit]
sink = "file"
path = "audit/audit.jsonl"
[store.memory]
snapshot = "state/store.snapshot"
encryption_keys = [{ file = "store.key" }]
[process]
confinement = `;
const start = (name, mode) => startFederation(name, {}, { settings: `${SETTINGS}${JSON.stringify(mode)}\n`, files: { 'store.key': random(32) } });

let confined, free, client;
before(async () => {
  confined = await start('hub-confined', 'required');
  free = await start('hub-free', 'off');
  client = await discoverHub(confined.hub, confined.sp);
});
after(() => Promise.all([confined?.stop(), free?.stop()]));

const inFolder = ({ hub }, ...name) => path.join(hub.folder, ...name);
const run = ({ hub }, ...args) => spawnSync(program, [...args, '--config', hub.folder], { encoding: 'utf8' });
const threads = ({ hub }) => readdirSync(`/proc/${hub.pid}/task`).map((thread) => readFileSync(`/proc/${hub.pid}/task/${thread}/status`, 'utf8'));
const login = async (browser = new Browser()) => {
  const redirect = await signIn(browser, (await buildAuthorizationRequest(client, confined.sp)).url, { stopAt: confined.sp.redirectUri });
  assert.match(redirect, /[?&]code=/);
};

test('every thread is confined, and a hub that need not be is not', async () => {
  for (const status of threads(confined)) {
    assert.match(status, /^NoNewPrivs:\t1$/m);
    assert.match(status, /^Seccomp:\t2$/m);
  }
  assert.match(threads(free)[0], /^Seccomp:\t0$/m);
  // The filter against new code comes after the start, when the C library has loaded its modules.
  const filters = () => threads(confined).map((status) => Number(/^Seccomp_filters:\t(\d+)$/m.exec(status)[1]));
  await waitUntil(() => filters().every((count) => count >= 3), 'the filter against new code in every thread');
  const limits = readFileSync(`/proc/${confined.hub.pid}/limits`, 'utf8');
  assert.match(limits, /^Max core file size +0 +0 /m);
  const ready = await (await fetch(`${confined.hub.privateBase}/readyz`)).json();
  assert.deepEqual(ready.checks.find((check) => check.name === 'process'), { name: 'process', state: 'ok' });
});

test('a confined hub serves a login, reads changed files, rotates keys, and writes its audit log', async () => {
  await login();
  const blocked = run(confined, 'idp', 'block', 'real', '--reason', 'a test');
  assert.equal(blocked.status, 0, blocked.stderr);
  assert.ok(readdirSync(inFolder(confined, 'state')).length > 0, 'the block is on the disk');
  assert.equal(run(confined, 'idp', 'unblock', 'real').status, 0);
  const token = readFileSync(inFolder(confined, 'admin.token'), 'utf8');
  const keys = readdirSync(inFolder(confined, 'keys')).length;
  for (const change of ['keys/rotate', 'reload']) {
    const answer = await fetch(`${confined.hub.privateBase}/admin/${change}`, { method: 'POST', headers: { authorization: `Bearer ${token}` } });
    assert.equal(answer.status, 200, `${change}: ${await answer.text()}`);
  }
  assert.ok(readdirSync(inFolder(confined, 'keys')).length > keys, 'a new key is on the disk');
  await login();
  assert.match(readFileSync(inFolder(confined, 'audit/audit.jsonl'), 'utf8'), /"code_issued"/);
});

test('a confined hub leaves its sessions to the next process', async () => {
  const browser = new Browser();
  await login(browser);
  await confined.hub.restart('SIGTERM', () => assert.ok(existsSync(inFolder(confined, 'state/store.snapshot'))));
  const { url } = await buildAuthorizationRequest(client, confined.sp, { prompt: 'none' });
  assert.match((await browser.open(url, { stopAt: confined.sp.redirectUri })).url, /[?&]code=/);
});

/** What a hub writes outside when its state folder is swapped for a link. */
function writtenOutside(federation) {
  const [state, away, outside] = ['state', 'state.away', 'outside'].map((name) => inFolder(federation, name));
  mkdirSync(outside, { mode: 0o700 });
  mkdirSync(state, { recursive: true, mode: 0o700 });
  renameSync(state, away);
  symlinkSync(outside, state);
  const { stdout, stderr } = run(federation, 'idp', 'block', 'real', '--reason', 'a test');
  const written = readdirSync(outside);
  rmSync(state);
  renameSync(away, state);
  return { written, said: stdout + stderr };
}

test('a state folder that an attacker swaps for a link gets nothing written outside', () => {
  const { written, said } = writtenOutside(confined);
  assert.deepEqual(written, []);
  assert.match(said, /[Pp]ermission denied/);
  // Without the confinement it would be.
  assert.notDeepEqual(writtenOutside(free).written, []);
});
