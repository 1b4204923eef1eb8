// The http register over mutual TLS against a real HTTPS server, working and failing, by docs/register.openapi.yaml.
import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, beforeEach, test } from 'node:test';
import * as oidc from 'openid-client';
import { SCOPE, discoverHub, buildAuthorizationRequest } from './federation.mjs';
import { Browser, IDP_CLIENT, IDP_SECRET, answerConsent, chooseProvider, freePorts, oidcConnector, program, random, readText, startHub } from './harness.mjs';
import { startIdp } from './real-idp.mjs';

const TOKEN = random(24);
const ANGELA = {
  given_names: ['Angela', 'Claire', 'Louise'], family_name: 'DUBOIS', birthdate: '1962-08-24', gender: 'female',
  birthplace: '75107', birthcountry: '99100',
};
const found = { outcome: 'found', identity: ANGELA };

/** Two authorities, each with a server's and a client's certificate. */
function certificates() {
  const folder = mkdtempSync(path.join(tmpdir(), 'passerelle-register-'));
  const at = (name) => path.join(folder, name);
  const openssl = (...args) => execFileSync('openssl', args, { stdio: 'pipe' });
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  for (const ca of ['ca', 'other']) {
    openssl('req', '-x509', ...key, '-keyout', at(`${ca}.key`), '-out', at(`${ca}.crt`), '-days', '2', '-subj', `/CN=${ca}`);
    for (const [end, usage] of [['server', 'serverAuth'], ['client', 'clientAuth']]) {
      const name = `${ca}-${end}`;
      openssl('req', ...key, '-keyout', at(`${name}.key`), '-out', at(`${name}.csr`), '-subj', `/CN=${name}`);
      writeFileSync(at('extensions'), `subjectAltName=DNS:localhost\nextendedKeyUsage=${usage}\nbasicConstraints=CA:FALSE\n`);
      openssl('x509', '-req', '-in', at(`${name}.csr`), '-CA', at(`${ca}.crt`), '-CAkey', at(`${ca}.key`), '-CAcreateserial',
        '-out', at(`${name}.crt`), '-days', '2', '-extfile', at('extensions'));
    }
  }
  return { at, read: (name) => readFileSync(at(name), 'utf8'), remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** A register that asks for a client certificate of `ca`; `respond(request, response, body)` answers. */
async function startRegister(pems, port, server = 'ca') {
  const register = { asked: [], refused: 0, respond: undefined };
  const listener = createServer({
    key: pems.read(`${server}-server.key`), cert: pems.read(`${server}-server.crt`), ca: pems.read('ca.crt'),
    requestCert: true, rejectUnauthorized: true,
  }, async (req, res) => {
    const chunks = [];
    for await (const chunk of req) chunks.push(chunk);
    const body = Buffer.concat(chunks).toString();
    register.asked.push({ method: req.method, url: req.url, headers: req.headers, body, peer: req.socket.getPeerCertificate().subject?.CN });
    if (req.headers.authorization !== `Bearer ${TOKEN}`) return res.writeHead(401).end();
    if (req.url === '/v1/health') return res.writeHead(204).end();
    return register.respond(req, res, body);
  });
  // A TLS socket can't be reset, only closed; what is under it can.
  const raw = new Map();
  listener.on('connection', (socket) => { raw.set(socket.remotePort, socket); socket.once('close', () => raw.delete(socket.remotePort)); });
  register.reset = (req) => raw.get(req.socket.remotePort).resetAndDestroy();
  listener.on('tlsClientError', () => { register.refused += 1; });
  await new Promise((resolve, reject) => listener.once('error', reject).listen(port, '127.0.0.1', resolve));
  register.close = () => new Promise((done) => { listener.close(done); listener.closeAllConnections(); });
  return register;
}

const json = (body, status = 200, type = 'application/json') => (_, res) => {
  res.writeHead(status, { 'content-type': type }).end(typeof body === 'string' ? body : JSON.stringify(body));
};

let pems, register, registerPort, idp, hub, sp, client;
const settings = (identity, ca = 'ca') => `[register.http]
url = "https://localhost:${registerPort}/v1"
client_certificate = "${identity}.crt"
client_key = { file = "${identity}.key" }
ca = "${ca}.crt"
bearer = { file = "register.token" }
internal_hosts = ["localhost"]`;

async function start(name, identity = 'ca-client', ca = 'ca') {
  const [port, privatePort] = await freePorts(2);
  sp = { id: 'alpha', secret: random(32), redirectUri: `http://localhost:${port}/sp/callback` };
  idp = await startIdp({
    port: (await freePorts(1))[0], clientId: IDP_CLIENT, clientSecret: IDP_SECRET, userinfoAlg: 'ES256',
    redirectUris: [`http://localhost:${port}/api/v2/callback/real`],
  });
  const files = { 'register.token': TOKEN };
  for (const file of [`${identity}.crt`, `${identity}.key`, `${ca}.crt`]) files[file] = pems.read(file);
  hub = await startHub(name, {
    port, privatePort, files, register: settings(identity, ca),
    sps: [{ id: sp.id, secret: sp.secret, redirectUris: [sp.redirectUri], scopes: SCOPE.split(' ') }],
    connectors: { real: oidcConnector(idp.issuer, 'userinfo_signed_response_alg = "ES256"') },
  });
  client = await discoverHub(hub, sp);
}
async function stop() {
  await hub?.stop();
  await idp?.close();
  [hub, idp] = [undefined, undefined];
}

before(async () => {
  pems = certificates();
  [registerPort] = await freePorts(1);
  register = await startRegister(pems, registerPort);
});
beforeEach(() => { register.asked = []; register.refused = 0; });
after(async () => { await stop(); await register?.close(); pems?.remove(); });

/** Performs a login up to the page that follows the register's response. */
async function identify() {
  const attempt = await buildAuthorizationRequest(client, sp);
  const browser = new Browser();
  const upstream = await chooseProvider(browser, await browser.open(attempt.url), 'real');
  return { ...attempt, browser, page: await browser.submit(upstream, { values: { login: 'angela', password: 'any' } }) };
}
/** Asserts that a login ends on the error page with this code, and that the page reveals nothing about the register. */
async function assertErrorPage(code, status = undefined) {
  const { page } = await identify();
  assert.ok(page.html.includes(code), `${code} is not on the page:\n${readText(page.html)}`);
  if (status) assert.equal(page.status, status);
  assert.ok(!page.html.includes('localhost:' + registerPort) && !page.html.includes('DUBOIS'));
}
const metric = async (line) => {
  const text = await (await fetch(`${hub.privateBase}/metrics`)).text();
  return Number(text.split('\n').find((l) => l.startsWith(`${line} `))?.split(' ')[1] ?? 0);
};

test('R008: a whole login, identity by the register: mutual TLS, the bearer token, the pivot in the body, and the support id in both logs', async () => {
  await start('hub-register');
  register.respond = json({ outcome: 'corrected', identity: { ...ANGELA, family_name: 'DUBOIS-MARTIN' } });
  const { page, browser, ...attempt } = await identify();
  const back = await answerConsent(browser, page, 'yes', sp.redirectUri);
  const tokens = await oidc.authorizationCodeGrant(client, new URL(back.url), {
    expectedState: attempt.state, expectedNonce: attempt.nonce, pkceCodeVerifier: attempt.verifier,
  });
  const info = await oidc.fetchUserInfo(client, tokens.access_token, tokens.claims().sub);
  assert.deepEqual([info.family_name, info.given_name, info.email], ['DUBOIS-MARTIN', 'Angela Claire Louise', 'angela@example.org']);
  const [asked, ...more] = register.asked;
  assert.equal(more.length, 0);
  assert.deepEqual([asked.method, asked.url, asked.peer], ['POST', '/v1/identify', 'ca-client']);
  assert.deepEqual(JSON.parse(asked.body), ANGELA);
  assert.match(asked.headers['x-request-id'], /^[0-9A-HJKMNP-TV-Z]{12}$/);
});

test('R008: each refusal of the register ends the login under its code, deceased and refused alike', async () => {
  for (const [outcome, shown, logged] of [
    ['not_found', 'Y010001', 'Y010001'], ['several', 'Y010002', 'Y010002'],
    ['deceased', 'Y010000', 'Y010003'], ['refused', 'Y010000', 'Y010004'],
  ]) {
    register.respond = json({ outcome });
    await assertErrorPage(shown, 403);
    const id = register.asked.at(-1).headers['x-request-id'];
    assert.ok(hub.log().split('\n').some((line) => line.includes(id) && line.includes(logged)), `${outcome}: ${logged} with ${id} in the log`);
  }
});

test('R008: an answer that breaks the contract never reaches the service provider', async () => {
  for (const [respond, code] of [
    [json('{"outcome":'), 'Y010006'], [json(found, 200, 'text/html'), 'Y010006'], [json({ outcome: 'perhaps' }), 'Y010006'],
    [json('{"outcome":"not_found","outcome":"found"}'), 'Y010006'], [json({ outcome: 'found' }), 'Y010006'],
    [json(' '.repeat(70_000)), 'Y010006'], [json({ outcome: 'found', identity: { ...ANGELA, family_name: 'ANOTHER PERSON' } }), 'Y010006'],
    [json({ outcome: 'found', identity: { ...ANGELA, birthdate: '1962-02-30' } }), 'Y010008'],
  ]) {
    register.respond = respond;
    await assertErrorPage(code);
  }
  assert.equal(await metric('passerelle_register_circuit_state{state="open"}'), 0, 'a response, even an invalid one, opens no circuit');
});

test('a connection that is reset is retried once', async () => {
  const before = await metric('passerelle_register_retries_total');
  let times = 0;
  register.respond = (req, res) => { times += 1; return times === 1 ? register.reset(req) : json(found)(req, res); };
  const { page } = await identify();
  assert.match(page.html, /consent/);
  assert.deepEqual([times, await metric('passerelle_register_retries_total')], [2, before + 1]);
});

test('a 500, a redirect and a register slower than six seconds are unavailable; then the circuit opens, and closes again', async () => {
  register.respond = (req, res) => res.writeHead(307, { location: `https://localhost:${registerPort}/v1/elsewhere` }).end();
  await assertErrorPage('Y010005', 503);
  assert.deepEqual(register.asked.map(({ url }) => url), ['/v1/identify'], 'a redirect is not followed');
  register.respond = () => {};
  const begun = performance.now();
  await assertErrorPage('Y010005', 503);
  const took = performance.now() - begun;
  assert.ok(took > 5_500 && took < 8_000, `gave up after ${took} ms`);
  register.respond = json('broken', 500);
  for (let times = 0; times < 3; times += 1) await assertErrorPage('Y010005', 503);
  assert.equal(await metric('passerelle_register_circuit_state{state="open"}'), 1);
  const asked = register.asked.length;
  await assertErrorPage('Y010005', 503);
  assert.equal(register.asked.length, asked, 'an open circuit asks nothing');
  assert.equal(await metric('passerelle_register_lookups_total{outcome="circuit_open"}'), 1);
  assert.equal(hub.log().split('circuit of the register opened').length, 2, 'logged once');
  register.respond = json(found);
  const deadline = performance.now() + 20_000;
  while (performance.now() < deadline) {
    const { page } = await identify();
    if (/consent/.test(page.html) && !page.html.includes('Y010005')) break;
    await new Promise((done) => { setTimeout(done, 500); });
  }
  assert.equal(await metric('passerelle_register_circuit_state{state="closed"}'), 1);
  assert.match(hub.log(), /circuit of the register closed/);
});

/** Runs the program on the hub's folder: { code, output }. */
const run = (...args) => new Promise((resolve) => {
  execFile(program, [...args, '--config', hub.folder], (error, stdout, stderr) => resolve({ code: error?.code ?? 0, output: stdout + stderr }));
});

test('an operator asks the register by command, and check --online looks at its health', async () => {
  const options = ['--given-names', 'Angela Claire Louise', '--family-name', 'DUBOIS', '--birthdate', '1962-08-24', '--gender', 'female',
    '--birthplace', '75107', '--birthcountry', '99100'];
  register.respond = json(found);
  assert.deepEqual(await run('register', 'lookup', ...options), { code: 0, output: 'found\n' });
  register.respond = json({ outcome: 'corrected', identity: { ...ANGELA, family_name: 'DUBOIS-MARTIN' } });
  const corrected = await run('register', 'lookup', ...options);
  assert.deepEqual(corrected, { code: 0, output: 'corrected: the register writes family_name differently\n' });
  register.respond = json({ outcome: 'deceased' });
  const deceased = await run('register', 'lookup', ...options);
  assert.ok(deceased.code === 1 && deceased.output.includes('deceased') && deceased.output.includes('Y010003'), deceased.output);
  const broken = await run('register', 'lookup', '--birthdate', '1962-02-30');
  assert.ok(broken.code === 1 && broken.output.includes('birthdate: must be a calendar day'), broken.output);
  const online = await run('check', '--online');
  assert.ok(online.code === 0 && online.output.includes('register: ok'), online.output);
  await stop();
});

test('a hub with a certificate of another authority, or none that fits its key, gets no answer', async () => {
  register.respond = json(found);
  await start('hub-register-client', 'other-client');
  await assertErrorPage('Y010005', 503);
  assert.equal(register.asked.length, 0);
  assert.ok(register.refused > 0, 'the register turns it away in the handshake');
  const online = await run('check', '--online');
  assert.ok(online.code === 1 && /register: the register does not answer/.test(online.output), online.output);
  // A key that is not the certificate's is reported before the hub starts.
  writeFileSync(path.join(hub.folder, 'other-client.key'), pems.read('ca-client.key'));
  const check = await run('check');
  assert.ok(check.code === 1 && check.output.includes('register.http.client_key: is not the key of the certificate'), check.output);
  await stop();
});

test('a register with a certificate of another authority gets no identity', async () => {
  await register.close();
  register = await startRegister(pems, registerPort, 'other');
  register.respond = json(found);
  await start('hub-register-server');
  await assertErrorPage('Y010005', 503);
  assert.equal(register.asked.length, 0, 'the hub sends no identity to a server without a valid certificate');
  assert.match(hub.log(), /certificate/i);
  await stop();
});
