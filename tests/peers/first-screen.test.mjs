// Twelve faults, one at a time, on a hub with 300 identity providers. For each, the cause and what to do stand on the first screen of the
// console, in the first lines of `passerelle status`, and the cause in the first row of a dashboard.
import assert from 'node:assert/strict';
import { execFile, execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { SignJWT, exportJWK, generateKeyPair } from 'jose';
import { chromium } from 'playwright-core';
import { buildAuthorizationRequest, discoverHub, redeemCode } from './federation.mjs';
import { Browser, IDP_CLIENT, answerConsent, artifacts, freePorts, oidcConnector, program, random, root, sendRawRequest, skipUnlessAll, startHub, startServer, waitUntil } from './harness.mjs';

const SCREEN = { wide: { width: 1280, height: 800 }, phone: { width: 390, height: 844 } };
const STATUS_LINES = 24;
const PROVIDERS = 300;
const id = (index) => `provider-${String(index).padStart(3, '0')}`;
const SOFTHSM = ['/usr/lib/softhsm/libsofthsm2.so', '/usr/lib64/pkcs11/libsofthsm2.so'].find(existsSync);
const missing = [process.getuid() !== 0 && 'root, to mount a small disk', !SOFTHSM && 'softhsm2'].filter(Boolean);
const skip = skipUnlessAll || (missing.length > 0 && `needs ${missing.join(' and ')}`);
const PIN = '73-correct-horse';
const LOGINS = 2000;

const folder = mkdtempSync(path.join(tmpdir(), 'passerelle-first-screen-'));
const openssl = (...args) => execFileSync('openssl', args, { stdio: 'pipe' });
const EC = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
const file = (name) => path.join(folder, name);

/** What each identity provider does wrong, by id. */
const wrong = new Map();
/** Seconds by which the clocks of all identity providers differ from this machine's. */
let skew = 0;
let keys;

/** Answers for one identity provider, whose issuer is the address of the server and its id. */
async function serveProvider(server, request, response) {
  const url = new URL(request.url, `http://localhost:${server.port}`);
  const [, provider, ...rest] = url.pathname.split('/');
  const fault = wrong.get(provider);
  const issuer = `${url.origin}/${provider}`;
  if (fault === 'slow') await new Promise((done) => { setTimeout(done, 3200); });
  if (fault === 'silent' && rest[0] !== 'authorize') return;
  response.setHeader('date', new Date(Date.now() + skew * 1000).toUTCString());
  const json = (body) => response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  switch (rest.join('/')) {
    case '.well-known/openid-configuration':
      return json({
        issuer: fault === 'issuer' ? 'https://elsewhere.example' : issuer, authorization_endpoint: `${issuer}/authorize`, token_endpoint: `${issuer}/token`,
        userinfo_endpoint: `${issuer}/userinfo`, jwks_uri: `${issuer}/jwks`, response_types_supported: ['code'],
        subject_types_supported: ['public'], id_token_signing_alg_values_supported: ['ES256'],
      });
    case 'jwks': return json({ keys: [keys.jwk] });
    case 'authorize': {
      const asked = url.searchParams;
      const back = new URLSearchParams({ code: asked.get('nonce'), state: asked.get('state'), iss: issuer });
      return response.writeHead(303, { location: `${asked.get('redirect_uri')}?${back}` }).end();
    }
    case 'token': {
      const chunks = [];
      for await (const chunk of request) chunks.push(chunk);
      const nonce = new URLSearchParams(Buffer.concat(chunks).toString()).get('code');
      const now = Math.floor(Date.now() / 1000);
      const idToken = await new SignJWT({ nonce, acr: 'eidas1', auth_time: now }).setProtectedHeader({ alg: 'ES256', kid: 'one' })
        .setIssuer(issuer).setAudience(IDP_CLIENT).setSubject('angela').setIssuedAt(now).setExpirationTime(now + 60)
        .sign(fault === 'signature' ? keys.forged : keys.own);
      return json({ access_token: random(), token_type: 'Bearer', expires_in: 60, id_token: idToken });
    }
    case 'userinfo':
      return json({
        sub: 'angela', given_name: 'Angela Claire Louise', family_name: 'DUBOIS', birthdate: '1962-08-24', gender: 'female', birthplace: '75107',
        birthcountry: '99100', preferred_username: 'Angie', email: 'angela@example.org',
      });
    default: return response.writeHead(404).end();
  }
}

async function startProviders(port = 0) {
  const listener = createServer((request, response) => serveProvider(server, request, response));
  await new Promise((resolve, reject) => { listener.once('error', reject).listen(port, '127.0.0.1', resolve); });
  const server = { port: listener.address().port, close: () => new Promise((done) => { listener.close(done); listener.closeAllConnections(); }) };
  return server;
}

/** A register over TLS that knows everyone. */
async function startRegister(port) {
  const listener = createTlsServer({ key: readFileSync(file('register.key')), cert: readFileSync(file('register.crt')) }, async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ outcome: 'found', identity: JSON.parse(Buffer.concat(chunks).toString()) }));
  });
  await new Promise((resolve, reject) => { listener.once('error', reject).listen(port, '127.0.0.1', resolve); });
  return { close: () => new Promise((done) => { listener.close(done); listener.closeAllConnections(); }) };
}

const startRedis = (port) => spawn('redis-server', ['--port', port, '--bind', '127.0.0.1', '--save', '', '--dir', folder, '--maxmemory-policy', 'noeviction'].map(String), { stdio: 'ignore' });
/** Writes NAME.crt and NAME.key, issued by `by`, or by itself. */
function newCertificate(name, days, by) {
  const issuer = by ? ['-CA', file(`${by}.crt`), '-CAkey', file(`${by}.key`), '-addext', 'basicConstraints=critical,CA:FALSE', '-addext', 'subjectAltName=DNS:localhost'] : [];
  openssl('req', '-x509', ...EC, '-subj', `/CN=${name}`, ...issuer, '-days', String(days), '-keyout', file(`${name}.key`), '-out', file(`${name}.crt`));
}

let hub, sp, client, providers, lone, register, registerPort, redis, redisPort, receiver, receives = true, prometheus, base, browser, pages, audit;

before(async () => {
  if (skip) return;
  const [port, privatePort, metricsPort, ...others] = await freePorts(5);
  [redisPort, registerPort] = others;
  keys = { own: await generateKeyPair('ES256'), forged: await generateKeyPair('ES256') };
  keys = { own: keys.own.privateKey, forged: keys.forged.privateKey, jwk: { ...await exportJWK(keys.own.publicKey), kid: 'one', alg: 'ES256', use: 'sig' } };
  providers = await startProviders();
  lone = await startProviders();
  receiver = await startServer((request, response) => request.resume().on('end', () => response.writeHead(receives ? 200 : 503).end()));
  newCertificate('authority', 400);
  newCertificate('register', 400, 'authority');
  newCertificate('hub', 400, 'authority');
  register = await startRegister(registerPort);
  redis = startRedis(redisPort);
  audit = file('audit');
  mkdirSync(audit);
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=16m', 'tmpfs', audit], { stdio: 'pipe' });
  const tokens = file('tokens');
  mkdirSync(tokens);
  process.env.SOFTHSM2_CONF = file('softhsm2.conf');
  writeFileSync(process.env.SOFTHSM2_CONF, `directories.tokendir = ${tokens}\n`);
  execFileSync('softhsm2-util', ['--init-token', '--free', '--label', 'hub', '--so-pin', '12345678', '--pin', PIN], { stdio: 'pipe' });
  sp = { id: 'alpha', secret: random(32), redirectUri: `http://localhost:${port}/sp/callback`, postLogoutUri: `http://localhost:${port}/sp/out` };
  const mutual = 'token_endpoint_auth_method = "client_secret_post"';
  const connectors = Object.fromEntries(Array.from({ length: PROVIDERS }, (_, index) => [id(index), oidcConnector(`http://localhost:${index === 137 ? lone.port : providers.port}/${id(index)}`, mutual)]));
  hub = await startHub('first-screen', {
    port, privatePort, readySeconds: 120, connectors,
    sps: [{ ...sp, redirectUris: [sp.redirectUri], postLogoutUris: [sp.postLogoutUri], scopes: 'openid given_name family_name birthdate gender birthplace birthcountry email preferred_username profile birth identite_pivot'.split(' '), extra: `backchannel_logout_uri = "http://127.0.0.1:${receiver.port}/logout"\ninternal_hosts = ["127.0.0.1"]\n[connectors]\nidp_hint = "any"` }],
    settings: `pkcs11 = { module = ${JSON.stringify(SOFTHSM)}, token = "hub", pin = { file = "pin" } }
process = { writable_folders = [${JSON.stringify(tokens)}] }
audit = { sink = "file", path = ${JSON.stringify(path.join(audit, 'audit.jsonl'))} }
store.redis = { nodes = ["127.0.0.1:${redisPort}"], encryption_keys = [{ file = "store.key" }] }
`,
    publicListener: 'trusted_proxies = ["127.0.0.1/32"]\nclient_address_header = "x-forwarded-for"',
    limits: `logins = ${LOGINS}`,
    register: `[register.http]\nurl = "https://localhost:${registerPort}/v1"\nclient_certificate = "hub.crt"\nclient_key = { file = "hub.key" }\nca = "authority.crt"\ninternal_hosts = ["localhost"]`,
    files: { pin: PIN, 'store.key': random(48), 'hub.crt': readFileSync(file('hub.crt')), 'hub.key': readFileSync(file('hub.key')), 'authority.crt': readFileSync(file('authority.crt')) },
  });
  await promisify(execFile)(program, ['keys', 'rotate', '--lead', '0', '--config', hub.folder]);
  writeFileSync(file('prometheus.yml'), `global: { scrape_interval: 1s, evaluation_interval: 1s }\nscrape_configs:\n  - { job_name: passerelle, static_configs: [{ targets: ["127.0.0.1:${privatePort}"] }] }\n`);
  base = `http://127.0.0.1:${metricsPort}`;
  prometheus = spawn('prometheus', [`--config.file=${file('prometheus.yml')}`, `--storage.tsdb.path=${file('data')}`, `--web.listen-address=127.0.0.1:${metricsPort}`, '--log.level=error'], { stdio: 'ignore' });
  process.once('exit', () => { prometheus.kill('SIGKILL'); redis.kill('SIGKILL'); });
  await waitUntil(() => fetch(`${base}/-/ready`).then((answer) => answer.ok, () => false), 'Prometheus');
  client = await discoverHub(hub, sp);
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu', '--disable-quic'] });
  pages = {};
  for (const [size, viewport] of Object.entries(SCREEN)) {
    const page = await (await browser.newContext({ viewport })).newPage();
    page.setDefaultTimeout(30_000);
    await page.goto(`${hub.privateBase}/admin/`);
    await page.getByLabel('Administration token').fill(readFileSync(path.join(hub.folder, 'admin.token'), 'utf8'));
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.locator('h1').waitFor();
    pages[size] = page;
  }
});
after(async () => {
  await browser?.close();
  await hub?.stop();
  for (const child of [prometheus, redis]) child?.kill('SIGKILL');
  await Promise.all([providers, lone, receiver, register].map((server) => server?.close().catch(() => {})));
  if (audit) execFileSync('umount', ['--lazy', audit]);
  rmSync(folder, { recursive: true, force: true });
});

const problems = async () => (await (await fetch(`${hub.privateBase}/readyz`)).json()).problems ?? [];

/** A browser in one of the networks 198.51.0.0/24, 198.51.1.0/24, … */
class Visitor extends Browser {
  constructor(network) {
    super();
    this.network = network;
  }

  step(url, request = {}) {
    return super.step(url, { ...request, headers: { ...request.headers, 'x-forwarded-for': `198.51.${this.network}.7` } });
  }
}

/** A login up to the page after the identity provider. */
async function comeBackFrom(provider, network = 0) {
  const visitor = new Visitor(network);
  const authorization = await buildAuthorizationRequest(client, sp, { idp_hint: provider });
  const page = await visitor.open(authorization.url, { stopAt: sp.redirectUri });
  return { visitor, authorization, page };
}

async function signOut() {
  const { visitor, authorization, page } = await comeBackFrom(id(1));
  const back = await answerConsent(visitor, page, 'yes', sp.redirectUri);
  const { body } = await redeemCode(hub, sp, { code: new URL(back.url).searchParams.get('code'), code_verifier: authorization.verifier });
  await visitor.step(`${hub.issuer}/session/end?${new URLSearchParams({ id_token_hint: body.id_token, post_logout_redirect_uri: sp.postLogoutUri, state: random(32) })}`);
}

const connectorFile = (provider) => path.join(hub.folder, `connectors/${provider}.toml`);
const edit = (name, change) => writeFileSync(name, change(readFileSync(name, 'utf8')));
const repeat = async (times, act) => { for (let n = 0; n < times; n += 1) await act(n); };

/** Begins logins that no browser follows, from one network, until it has no more room. */
async function flood() {
  for (let n = 0; n < 3 * LOGINS; n += 20) {
    const answers = await Promise.all(Array.from({ length: 20 }, async (_, k) => {
      const { url } = await buildAuthorizationRequest(client, sp);
      return sendRawRequest(url, { headers: { 'x-forwarded-for': `203.0.113.${(n + k) % 250}` } });
    }));
    if (answers.every(({ status }) => status === 429)) return;
  }
}

/**
 * cause, act: what the operator reads. board: the dashboard, and a line of its first row.
 */
const FAULTS = {
  'an identity provider is down': {
    begin: async () => { await lone.close(); await comeBackFrom(id(137)).catch(() => {}); },
    end: async () => { lone = await startProviders(lone.port); },
    cause: /1 of 300 identity providers is down: provider-137. Y020003: /, act: /inform/, board: ['identity-providers', /provider-137 down/],
  },
  'an identity provider is slow': {
    begin: async () => { wrong.set(id(42), 'slow'); await comeBackFrom(id(42)); },
    end: () => wrong.clear(),
    cause: /1 of 300 identity providers is slow: provider-042/, act: /inform/, board: ['overview', /provider-042 is slow/],
  },
  'an identity provider does not answer in time': {
    begin: async () => { wrong.set(id(43), 'silent'); await comeBackFrom(id(43)).catch(() => {}); },
    end: () => wrong.clear(),
    cause: /1 of 300 identity providers is down: provider-043. Y0200\d\d: /, act: /inform/, board: ['identity-providers', /provider-043 down/],
  },
  'an identity provider names another issuer': {
    begin: async () => { await comeBackFrom(id(44)); wrong.set(id(44), 'issuer'); },
    end: () => wrong.clear(),
    cause: /provider-044. Y0200\d\d: .*issuer/, act: /inform/, board: ['identity-providers', /provider-044 down/],
  },
  'an identity provider signs with a key that it does not publish': {
    begin: async () => { wrong.set(id(45), 'signature'); await repeat(3, (network) => comeBackFrom(id(45), network)); },
    end: () => wrong.clear(),
    cause: /provider-045. Y0200\d\d: .*signature/, act: /inform/, board: ['identity-providers', /provider-045 degraded/],
  },
  'a certificate expires soon': {
    begin: () => {
      newCertificate('hub', 5, 'authority');
      const secrets = `secrets/connectors/${id(46)}`;
      mkdirSync(path.join(hub.folder, secrets), { recursive: true });
      for (const ending of ['crt', 'key']) writeFileSync(path.join(hub.folder, secrets, `hub.${ending}`), readFileSync(file(`hub.${ending}`)), { mode: 0o600 });
      edit(connectorFile(id(46)), (text) => text.replace('client_secret_post', 'tls_client_auth').replace(/client_secret = .*/, `client_certificate = { file = "${secrets}/hub.crt" }\nclient_key = { file = "${secrets}/hub.key" }`));
    },
    end: () => writeFileSync(connectorFile(id(46)), readFileSync(connectorFile(id(47)), 'utf8').replaceAll(id(47), id(46))),
    cause: /connectors\/provider-046.toml.*certificate.*ends/, act: /replace it/, board: ['overview', /provider-046.*certificate/],
  },
  'the register is down': {
    begin: async () => { await register.close(); await repeat(6, () => comeBackFrom(id(1)).catch(() => {})); },
    end: async () => { register = await startRegister(registerPort); await waitUntil(async () => { await comeBackFrom(id(1)); return !(await problems()).some(({ check }) => check === 'register'); }, 'an answer of the register'); },
    cause: /logins that need the register fail at once .*does not answer/, act: /inform its operator/, board: ['overview', /Register is down/],
  },
  'Redis is down': {
    begin: () => { redis.kill('SIGKILL'); },
    end: () => { redis = startRedis(redisPort); },
    cause: /the store can't be used: (no|connection|not called)/, act: /start its server/, board: ['overview', /the shared store is down/],
  },
  'the disk of the audit log is full': {
    begin: async () => {
      assert.throws(() => { for (;;) writeFileSync(path.join(audit, 'filling'), Buffer.alloc(1 << 20), { flag: 'a' }); }, { code: 'ENOSPC' });
      await repeat(20, () => comeBackFrom(id(1)).catch(() => {}));
    },
    end: () => rmSync(path.join(audit, 'filling')),
    cause: /audit log can't be written: No space left/, act: /free space/, board: ['overview', /audit log/],
  },
  'the clock of the hub is wrong': {
    begin: () => { skew = 3600; },
    end: () => { skew = 0; },
    cause: /this hub's clock is wrong/, act: /set this machine's clock/, board: ['overview', /its clock is wrong/], seconds: 120,
  },
  'a file is invalid': {
    begin: () => edit(connectorFile(id(48)), (text) => text.replace('client_id', 'client_idd')),
    end: () => edit(connectorFile(id(48)), (text) => text.replace('client_idd', 'client_id')),
    cause: /connectors\/provider-048.toml.*client_idd/, act: /client_id/, board: ['overview', /invalid files \(connector\)/],
  },
  'a service provider does not accept logout tokens': {
    begin: async () => { receives = false; await repeat(5, signOut); },
    end: () => { receives = true; },
    cause: /logout tokens? ha.*alpha/, act: /backchannel_logout_uri/, board: ['overview', /alpha.*logout tokens/], seconds: 120,
  },
  'one network floods the hub with logins': {
    begin: flood,
    // A login frees the room of those that have ended.
    end: () => waitUntil(async () => { await comeBackFrom(id(1)); return !(await problems()).some(({ check }) => check === 'store'); }, 'room for logins', 300),
    cause: /one network/, act: /proxy/, board: ['overview', /nearly full \(logins\)|refused/],
  },
  // The last one: SoftHSM looks for tokens when it is loaded, so only a restart finds them again.
  'the key device is gone': {
    begin: () => renameSync(file('tokens'), file('removed')),
    end: () => renameSync(file('removed'), file('tokens')),
    cause: /no login begins, because the key device/, act: /bring it back/, board: ['overview', /key device \w+ is down/],
  },
};

const filled = (expression) => expression.replaceAll('$__rate_interval', '15s').replaceAll('$__range', '1m').replaceAll(/\$\w+/g, '.*');

/** The lines of the first row of a dashboard: what Grafana shows for each series. */
async function firstRow(board) {
  const { panels } = JSON.parse(readFileSync(path.join(root, 'dashboards', `${board}.json`), 'utf8'));
  const lines = [];
  for (const panel of panels.filter(({ gridPos }) => gridPos.y === 0)) {
    const texts = panel.fieldConfig.defaults.mappings[0]?.options ?? {};
    for (const { expr, legendFormat } of panel.targets) {
      const { data } = await (await fetch(`${base}/api/v1/query?${new URLSearchParams({ query: filled(expr) })}`)).json();
      for (const { metric, value: [, value] } of data.result) {
        lines.push(`${legendFormat.replaceAll(/\{\{(\w+)\}\}/g, (_, label) => metric[label])} ${texts[value]?.text ?? value}`);
      }
    }
  }
  return lines;
}

/** Takes a picture of the first screen, and fails unless it has both texts. */
async function checkConsole(texts, name) {
  for (const [size, page] of Object.entries(pages)) {
    await page.goto(`${hub.privateBase}/admin/`);
    await page.screenshot({ path: path.join(artifacts, `first-screen-${name.replaceAll(' ', '-')}-${size}.png`) });
  }
  for (const text of texts) {
    const box = await pages.wide.locator('.problems p').getByText(text).first().boundingBox();
    assert.ok(box.y + box.height <= SCREEN.wide.height, `${text} ends at ${box.y + box.height} px`);
  }
}

for (const [name, { begin, end, cause, act, board: [board, line], seconds = 60 }] of Object.entries(FAULTS)) {
  test(`the first screen says what is wrong and what to do when ${name}`, { skip }, async () => {
    await waitUntil(async () => (await problems()).length === 0, `a healthy hub before: ${name}`, 240).catch(async (error) => { console.log(await problems()); throw error; });
    const began = performance.now();
    await begin();
    try {
      let found;
      await waitUntil(async () => { found = (await problems()).find(({ message }) => cause.test(message)); return found; }, cause, seconds).catch(async (error) => { console.log(name, JSON.stringify(await problems(), null, 1)); throw error; });
      console.log(`# ${name}: after ${Math.round((performance.now() - began) / 1000)} s: ${found.message}; fix: ${found.fix}`);
      assert.match(found.fix, act);
      await checkConsole([cause, act], name);
      const { stdout } = await promisify(execFile)(program, ['status', '--config', hub.folder]);
      const screen = stdout.split('\n').slice(0, STATUS_LINES).join('\n');
      for (const text of [cause, act]) assert.match(screen, text);
      let lines;
      await waitUntil(async () => { lines = await firstRow(board); return lines.some((one) => line.test(one)); }, line, 60).catch((error) => { console.log(name, lines); throw error; });
      console.log(`# ${name}: ${board}: ${lines.filter((one) => line.test(one))}`);
    } finally {
      await end();
    }
  });
}
