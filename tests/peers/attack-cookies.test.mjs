// Attack: thousands of forged login cookies in one request, and pop-ups that fill a browser with login cookies. Bounds: calls to
// the store for one request, bytes of the answer, bytes of the Cookie header.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { Browser, freePorts, oidcConnector, random, readText, sendRawRequest, sha256, startHub } from './harness.mjs';

/** Longest Cookie header that a common ingress accepts: one of nginx's large_client_header_buffers. */
const INGRESS = 8 * 1024;

let hub, store, storePort, folder, sp;
before(async () => {
  const [port, privatePort, own, idp] = await freePorts(4);
  storePort = own;
  folder = mkdtempSync(path.join(tmpdir(), 'passerelle-cookies-'));
  store = spawn('redis-server', ['--port', storePort, '--bind', '127.0.0.1', '--save', '', '--dir', folder, '--maxmemory-policy', 'noeviction'].map(String), { stdio: 'ignore' });
  process.once('exit', () => store.kill('SIGKILL'));
  sp = { id: 'alpha', secret: random(32), redirectUri: `http://localhost:${port}/sp/callback` };
  hub = await startHub('hub-attack-cookies', {
    port, privatePort,
    sps: [{ ...sp, redirectUris: [sp.redirectUri] }],
    connectors: { real: oidcConnector(`http://127.0.0.1:${idp}`) },
    settings: `store.redis = { nodes = ["127.0.0.1:${storePort}"], encryption_keys = [{ file = "store.key" }] }`,
    files: { 'store.key': random(48) },
  });
});
after(async () => {
  await hub?.stop();
  store?.kill('SIGKILL');
  if (folder) rmSync(folder, { recursive: true, force: true });
});

const authorizeUrl = () => `${hub.issuer}/authorize?${new URLSearchParams({
  response_type: 'code', client_id: sp.id, redirect_uri: sp.redirectUri, scope: 'openid', acr_values: 'eidas1', state: random(32), nonce: random(32),
})}`;
const cli = (...args) => spawnSync('redis-cli', ['-p', String(storePort), ...args], { encoding: 'utf8' }).stdout;

/** Returns what the hub sent to the Redis server about logins during `act`: the commands by MONITOR, the round trips by the hub's metric. */
async function watched(act) {
  const monitor = spawn('redis-cli', ['-p', String(storePort), 'MONITOR'], { stdio: ['ignore', 'pipe', 'ignore'] });
  let seen = '';
  monitor.stdout.on('data', (chunk) => { seen += chunk; });
  const until = async (text) => { while (!seen.includes(text)) await new Promise((resolve) => setTimeout(resolve, 10)); };
  await until('OK');
  const before = await roundTrips();
  const value = await act();
  const trips = await roundTrips() - before;
  const mark = random(16);
  cli('ECHO', mark);
  await until(mark);
  monitor.kill();
  const commands = seen.split('\n').filter((line) => / \[0 \d/.test(line) && /:l:/.test(line));
  return { value, trips, commands };
}
const roundTrips = async () => {
  const metrics = await (await fetch(`${hub.privateBase}/metrics`)).text();
  return Number(metrics.match(/^passerelle_redis_round_trip_duration_seconds_count\{operation="load"\} (\d+)$/m)?.[1] ?? 0);
};
const bytesOf = (answer) => answer.rawHeaders.join('').length + answer.text.length;

/** A well-formed login cookie of a login that does not exist. */
function forged() {
  const value = random(32);
  return `passerelle-login-${sha256(value).toString('base64url').slice(0, 12)}=${value}`;
}

test('5,000 forged login cookies cost no more store calls than one, and no larger answer', async () => {
  const browser = new Browser();
  const choice = await browser.open(authorizeUrl());
  assert.equal(choice.status, 200, readText(choice.html));
  const [[name, value]] = browser.cookies(choice.url);
  const own = `${name}=${value}`;
  const alone = await watched(() => sendRawRequest(choice.url, { headers: { cookie: own } }));
  assert.equal(alone.value.status, 200);
  assert.equal(alone.trips, 1, 'the login itself');

  const jars = {
    'as many as the limit on headers lets through, each well formed': Array.from({ length: 1300 }, forged),
    'as short as can be, as was found': Array.from({ length: 5000 }, (_, n) => `passerelle-login-${n}=`),
  };
  for (const [what, jar] of Object.entries(jars)) {
    // The cookie of the login is the oldest, and still comes first.
    const { value: answer, trips, commands } = await watched(() => sendRawRequest(choice.url, { headers: { cookie: [own, ...jar].join('; ') } }));
    assert.equal(answer.status, 200, `${what}: ${answer.status} ${answer.text.slice(0, 300)}`);
    const expired = (answer.headers['set-cookie'] ?? []).length;
    console.log(`# ${what}: ${[own, ...jar].join('; ').length} bytes sent, ${trips} round trips, ${commands.length} commands, ${expired} cookies expired, ${bytesOf(answer)} bytes answered`);
    assert.ok(trips <= 2, `${what}: ${trips} round trips: the login, and all cookies together`);
    assert.ok(commands.length <= 1 + 16, `${what}: ${commands.length} reads`);
    assert.ok(expired <= 16, `${what}: ${expired} cookies expired`);
    assert.ok(bytesOf(answer) < bytesOf(alone.value) + 4096, `${what}: ${bytesOf(answer)} bytes`);
  }

  // At the callback, whose address names no login.
  const jar = jars['as many as the limit on headers lets through, each well formed'];
  const back = await watched(() => sendRawRequest(`${hub.issuer}/callback/real?code=x&state=${random(32)}`, { headers: { cookie: jar.join('; ') } }));
  assert.equal(back.value.status, 403, back.value.text.slice(0, 300));
  assert.ok(back.trips <= 1 && back.commands.length <= 16, `${back.trips} round trips, ${back.commands.length} reads`);
});

test('130 pop-ups leave a Cookie header that every ingress accepts, and the newest goes on', async () => {
  for (const looks of [false, true]) {
    const browser = new Browser();
    let longest = 0;
    let newest;
    for (let n = 0; n < 130; n += 1) {
      const begun = await browser.step(authorizeUrl());
      assert.equal(begun.status, 303);
      newest = begun.location;
      if (looks) assert.equal((await browser.open(newest)).status, 200);
      const header = [...browser.cookies(hub.base)].map(([name, value]) => `${name}=${value}`).join('; ');
      longest = Math.max(longest, header.length);
    }
    console.log(`# 130 pop-ups ${looks ? 'that show their page' : 'that only begin'}: ${browser.cookies(hub.base).size} cookies, at most ${longest} bytes`);
    assert.ok(longest < INGRESS / 4, `${longest} bytes`);
    const page = await browser.open(newest);
    assert.equal(page.status, 200, readText(page.html));
  }
});

test('a tab whose login was closed for younger ones says why, without its cookie', async () => {
  const browser = new Browser();
  const tabs = [];
  for (let n = 0; n < 9; n += 1) tabs.push(await browser.open(authorizeUrl()));
  const page = await browser.open(tabs[0].url);
  assert.equal(page.status, 409);
  assert.ok(page.html.includes('Y420007') && !page.html.includes('Service alpha'), readText(page.html));
  assert.equal((await browser.open(tabs[8].url)).status, 200);
});
