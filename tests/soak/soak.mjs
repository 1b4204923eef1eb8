// Sends honest and hostile traffic together for a given time: docs/chaos.md.
//
//   node tests/soak/soak.mjs [--seconds 900] [--rate 5]     HUB_BIN names the program
//
// The run passes if every honest login completes, the hub writes no ERROR line, memory stays below a bound, and neither memory nor
// descriptors grow after the end.
import http from 'node:http';
import net from 'node:net';
import { readFileSync, readdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { discoverHub, redeemCode, buildAuthorizationRequest, startFederation, fetchUserinfo } from '../peers/federation.mjs';
import { Browser, random, signIn } from '../peers/harness.mjs';

const { values } = parseArgs({ options: { seconds: { type: 'string', default: '900' }, rate: { type: 'string', default: '5' } } });
const [seconds, rate] = [Number(values.seconds), Number(values.rate)];
/** After this time the records of unread and completed logins have expired. */
const EXPIRY_SECONDS = 240;
/** Maximum memory of the hub, which includes the admin console's 20,000 logins and 20,000 refusals. */
const MAX_RSS_MB = 160;

const federation = await startFederation('soak', {}, {
  settings: '[log]\nformat = "json"\n[lifetimes]\nsession_idle_seconds = 60\nsession_seconds = 120\n',
  publicListener: 'trusted_proxies = ["127.0.0.1/32"]\nclient_address_header = "x-forwarded-for"',
});
const { hub, sp } = federation;
const client = await discoverHub(hub, sp);
const { host, port } = new URL(hub.base);

const counts = {};
const count = (name) => { counts[name] = (counts[name] ?? 0) + 1; };
const pick = (list) => list[Math.floor(Math.random() * list.length)];
const octet = () => 1 + Math.floor(Math.random() * 254);

/** A browser whose X-Forwarded-For header, set as by a trusted proxy, names one client address. */
class RemoteBrowser extends Browser {
  constructor(address) {
    super();
    this.address = address;
  }

  step(url, { headers = {}, ...rest } = {}) {
    return super.step(url, { ...rest, headers: { ...headers, 'x-forwarded-for': this.address } });
  }
}

/** Signs in, redeems the code and reads userinfo. */
async function signInOnce() {
  const browser = new RemoteBrowser(`198.${18 + Math.floor(Math.random() * 2)}.${octet()}.${octet()}`);
  const login = await buildAuthorizationRequest(client, sp);
  const redirect = new URL(await signIn(browser, login.url, { stopAt: sp.redirectUri }));
  const code = redirect.searchParams.get('code');
  if (!code) throw new Error(`no code: ${redirect.search}`);
  const tokens = await redeemCode(hub, sp, { code, code_verifier: login.verifier });
  if (tokens.status !== 200) throw new Error(`token: ${tokens.status} ${JSON.stringify(tokens.body)}`);
  const response = await fetchUserinfo(hub, tokens.body.access_token);
  if (response.status !== 200) throw new Error(`userinfo: ${response.status}`);
  await response.text();
}

/** Sends bytes on a new socket. Closes it after `holdMs`, during which it reads nothing. */
const sendRaw = (bytes, holdMs = 0) => new Promise((resolve) => {
  const socket = net.connect({ host: '127.0.0.1', port }, () => socket.write(bytes));
  socket.on('error', () => {}).once('close', resolve);
  if (holdMs > 0) socket.pause();
  setTimeout(() => socket.destroy(), holdMs || 500);
});

/** Sends a request from a random address of the attacker's network, and discards the response. */
const sendHostile = (path, { method = 'GET', headers = {}, body } = {}) => new Promise((resolve) => {
  const from = `203.0.113.${octet()}`;
  const sent = http.request({ host: '127.0.0.1', port, path, method, agent: false, headers: { host: `${host}`, 'x-forwarded-for': from, ...headers } }, (response) => {
    count(`hostile ${response.statusCode}`);
    response.resume().once('close', resolve);
  });
  sent.once('error', () => { count('hostile refused'); resolve(); });
  sent.setTimeout(30_000, () => sent.destroy());
  sent.end(body);
});

const FORM = { 'content-type': 'application/x-www-form-urlencoded' };
const authorizePath = (more = {}) => `/api/v2/authorize?${new URLSearchParams({
  client_id: sp.id, redirect_uri: sp.redirectUri, response_type: 'code', scope: 'openid', acr_values: 'eidas1', state: random(), nonce: random(), ...more,
})}`;

/** Begins a login and forges its callback: cookie and state are right, and the code is one that identity providers may fail on. */
async function forgeCallback() {
  const browser = new RemoteBrowser(`203.0.113.${octet()}`);
  const login = await buildAuthorizationRequest(client, sp);
  const choice = await browser.open(login.url);
  const csrf = choice.html.match(/name="csrf" value="([^"]+)"/)?.[1];
  if (!csrf) return;
  const redirect = await browser.step(`${choice.url}/provider`, { method: 'POST', body: new URLSearchParams({ csrf, provider: 'real' }), headers: FORM });
  const state = new URL(redirect.location ?? 'http://x/').searchParams.get('state') ?? random();
  const code = pick(['\0abc', 'x'.repeat(40_000), 'x'.repeat(4_000), '<script>', "' OR 1=1", random()]);
  await browser.step(`${hub.issuer}/callback/real?${new URLSearchParams({ state, code, iss: federation.idp.issuer })}`);
}

const HOSTILE_REQUESTS = {
  'unread logins': () => sendHostile(authorizePath()),
  'largest logins': () => sendHostile(authorizePath({ state: 's'.repeat(1_024), nonce: 'n'.repeat(1_024), claims: JSON.stringify({ userinfo: { x: { value: 'v'.repeat(3_000) } } }) })),
  'malformed authorize': () => sendHostile(`/api/v2/authorize?client_id=${sp.id}&client_id=${sp.id}`),
  'encoded path': () => sendHostile('/api/v2/%74oken', { method: 'POST', headers: FORM, body: 'grant_type=authorization_code' }),
  'wrong secret': () => sendHostile('/api/v2/token', { method: 'POST', headers: FORM, body: new URLSearchParams({ grant_type: 'authorization_code', client_id: sp.id, client_secret: random(), code: random(), redirect_uri: sp.redirectUri }).toString() }),
  'made-up token': () => sendHostile('/api/v2/userinfo', { headers: { authorization: `Bearer ${random()}` } }),
  'forged cookies': () => sendHostile(`/api/v2/interaction/${random()}`, { headers: { cookie: Array.from({ length: 150 }, () => `passerelle-login-${random(9)}=${random()}`).join('; ') } }),
  'forged callback': forgeCallback,
  'unknown state': () => sendHostile(`/api/v2/callback/real?state=${random()}&code=${random()}`),
  'forged hint': () => sendHostile(`/api/v2/session/end?id_token_hint=${random()}.${random()}.${random()}`),
  'large body': () => sendHostile('/api/v2/token', { method: 'POST', headers: FORM, body: 'x'.repeat(200_000) }),
  'malformed HTTP': () => sendRaw(pick(['GET / HTTP/9.9\r\n\r\n', '\x16\x03\x01\x02\x00', 'G ET / HTTP/1.1\r\n\r\n', `GET / HTTP/1.1\r\n${'h'.repeat(65_536)}: x\r\n\r\n`])),
  'slow head': () => sendRaw('GET /api/v2/jwks HTTP/1.1\r\nhost: x\r\nx-slow: ', 20_000),
  'endless body': () => sendRaw(`POST /api/v2/token HTTP/1.1\r\nhost: ${host}\r\ntransfer-encoding: chunked\r\ncontent-type: application/x-www-form-urlencoded\r\n\r\n${`1000\r\n${'x'.repeat(4_096)}\r\n`.repeat(64)}`, 5_000),
  'answers never read': () => sendRaw(`GET /api/v2/.well-known/openid-configuration HTTP/1.1\r\nhost: ${host}\r\n\r\n`.repeat(500), 20_000),
};

const sample = () => ({
  rssMb: Math.round(Number(readFileSync(`/proc/${hub.pid}/status`, 'utf8').match(/VmRSS:\s+(\d+)/)[1]) / 1024),
  descriptors: readdirSync(`/proc/${hub.pid}/fd`).length,
});

const end = performance.now() + seconds * 1000;
const samples = [];
let lost = 0;
const honest = (async () => {
  const pending = new Set();
  while (performance.now() < end) {
    const login = signInOnce().then(() => count('honest logins'), (error) => { lost += 1; console.error(`lost: ${error.message.slice(0, 600)}`); }).finally(() => pending.delete(login));
    pending.add(login);
    await sleep(1000 / rate);
  }
  await Promise.all(pending);
})();
const hostile = Object.entries(HOSTILE_REQUESTS).map(async ([name, send]) => {
  while (performance.now() < end) {
    await send().catch(() => count(`hostile failed: ${name}`));
    count(name);
    await sleep(100);
  }
});
const sampling = (async () => {
  while (performance.now() < end) {
    await sleep(Math.min(15_000, seconds * 50));
    samples.push(sample());
    console.log(`${Math.round((end - performance.now()) / 1000)} s left: ${JSON.stringify(samples.at(-1))}, ${counts['honest logins'] ?? 0} logins`);
  }
})();
await Promise.all([honest, sampling, ...hostile]);
const last = samples.at(-1);
const maxDescriptors = Math.max(...samples.map(({ descriptors: open }) => open));
console.log(`waiting ${EXPIRY_SECONDS} s for records to expire`);
await sleep(EXPIRY_SECONDS * 1000);
const afterExpiry = sample();
const errors = hub.log().split('\n').filter((line) => /"level":"ERROR"|\bERROR\b/.test(line));
const warnings = hub.log().split('\n').filter((line) => /"level":"WARN"|\bWARN\b/.test(line));
await federation.stop();

console.log(JSON.stringify({ counts, last, afterExpiry, lost, errors: errors.length, warnings: warnings.length, logBytes: hub.log().length }, null, 2));
for (const line of errors.slice(0, 20)) console.log(line);
const failures = [
  [lost > 0, `${lost} honest logins did not complete`],
  [errors.length > 0, `${errors.length} ERROR lines`],
  [last.rssMb > MAX_RSS_MB, `memory grew to ${last.rssMb} MB`],
  [afterExpiry.rssMb > last.rssMb, `memory grew from ${last.rssMb} to ${afterExpiry.rssMb} MB after the end`],
  [afterExpiry.descriptors > maxDescriptors, `descriptors grew from ${maxDescriptors} to ${afterExpiry.descriptors} after the end`],
].filter(([failed]) => failed).map(([, message]) => message);
console.log(failures.length ? `FAILED: ${failures.join('; ')}` : '1 passed, 0 failed');
process.exit(failures.length ? 1 : 0);
