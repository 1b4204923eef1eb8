// Ordinary clients (npm openid-client, and Authlib in Python) at a hub for ordinary identity providers: `rules = "openid"`,
// `subject = "provider"`, no pivot identity anywhere (docs/design/login.md).
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { exportJWK, generateKeyPair } from 'jose';
import * as oidc from 'openid-client';
import { responseEncryption } from './federation.mjs';
import { Browser, IDP_CLIENT, IDP_SECRET, chooseProvider, parseForms, freePorts, random, signIn, startHub } from './harness.mjs';
import { startIdp } from './real-idp.mjs';

const SCOPE = 'openid profile email address phone';
const SCOPES = SCOPE.split(' ');
const JANE = {
  name: 'Jane Marie Doe', given_name: 'Jane', middle_name: 'Marie', family_name: 'Doe', nickname: 'JD', preferred_username: 'jane',
  profile: 'https://people.example/jane', picture: 'https://people.example/jane.png', website: 'https://jane.example/',
  gender: 'female', birthdate: '1980', zoneinfo: 'Europe/Paris', locale: 'en-GB', updated_at: 1_700_000_000,
  email: 'jane@people.example', email_verified: true, address: { formatted: '1 Main Street\nOldtown', country: 'FR' },
  phone_number: '+33 1 23 45 67 89', phone_number_verified: false,
};

let hub, idp, sp, encrypted, client;
before(async () => {
  const [port, privatePort, idpPort] = await freePorts(3);
  idp = await startIdp({
    port: idpPort, clientId: IDP_CLIENT, clientSecret: IDP_SECRET, ordinary: true,
    redirectUris: [`http://localhost:${port}/api/v2/callback/real`],
  });
  sp = { id: 'ordinary', secret: random(32), redirectUri: `http://localhost:${port}/sp/ordinary/callback` };
  const { publicKey, privateKey } = await generateKeyPair('ECDH-ES', { crv: 'P-256', extractable: true });
  const jwk = { ...await exportJWK(publicKey), kid: 'enc-1', use: 'enc', alg: 'ECDH-ES' };
  encrypted = { id: 'encrypted', secret: random(32), redirectUri: `http://localhost:${port}/sp/encrypted/callback`, privateKey };
  const openid = 'rules = "openid"\nconsent = "none"';
  const registered = [
    { ...sp, extra: openid },
    { ...encrypted, extra: `${openid}\nuserinfo_signed_response_alg = "RS256"\n${responseEncryption('ECDH-ES', [jwk])}` },
  ];
  hub = await startHub('hub-openid', {
    port, privatePort, register: '', settings: 'identity_source = "provider"\nsubject = "provider"',
    sps: registered.map((file) => ({ ...file, redirectUris: [file.redirectUri], scopes: SCOPES })),
    connectors: {
      real: `name = { en = "Real provider" }
levels = { lowest = "eidas1", highest = "eidas1" }
assumed_level = "eidas1"
[kind.oidc]
issuer = "${idp.issuer}"
client_id = "${IDP_CLIENT}"
client_secret = { file = "idp.secret" }
scopes = [${SCOPES.map((scope) => `"${scope}"`).join(', ')}]
insecure_http = true
internal_hosts = ["localhost", "127.0.0.1"]
`,
    },
  });
  client = await oidc.discovery(
    new URL(`${hub.issuer}/.well-known/openid-configuration`), sp.id, undefined, oidc.ClientSecretBasic(sp.secret),
    { execute: [oidc.allowInsecureRequests, oidc.enableNonRepudiationChecks] },
  );
});
after(async () => { await hub?.stop(); await idp?.close(); });

const url = (more = {}) => oidc.buildAuthorizationUrl(client, { redirect_uri: sp.redirectUri, scope: SCOPE, ...more }).href;
const logIn = async (browser, more, login = 'jane') => new URL(await signIn(browser, url(more), { login, stopAt: sp.redirectUri }));
const silently = async (browser, more) => {
  const page = await browser.open(url({ prompt: 'none', ...more }), { stopAt: sp.redirectUri });
  assert.ok(page.stopped, page.url);
  return new URL(page.url);
};

test('an ordinary client: short state and nonce, Basic, RS256, userinfo as JSON by each of the three ways', async () => {
  const [state, nonce] = [random(7), random(7)];
  assert.equal(state.length, 10);
  const back = await logIn(new Browser(), { state, nonce });
  const tokens = await oidc.authorizationCodeGrant(client, back, { expectedState: state, expectedNonce: nonce, idTokenExpected: true });
  const claims = tokens.claims();
  assert.deepEqual(Object.keys(claims).sort(), ['acr', 'aud', 'auth_time', 'exp', 'iat', 'iss', 'nonce', 'sub', ...Object.keys(JANE)].sort());
  assert.deepEqual(await oidc.fetchUserInfo(client, tokens.access_token, claims.sub), { sub: claims.sub, ...JANE });
  const address = client.serverMetadata().userinfo_endpoint;
  for (const init of [
    { method: 'POST', headers: { authorization: `Bearer ${tokens.access_token}` } },
    { method: 'POST', body: new URLSearchParams({ access_token: tokens.access_token }) },
  ]) {
    const response = await fetch(address, init);
    assert.equal(response.headers.get('content-type'), 'application/json; charset=utf-8');
    assert.deepEqual(await response.json(), { sub: claims.sub, ...JANE });
  }
});

test('openid-client decrypts ID token and userinfo of a client that registered encryption', async () => {
  const server = new URL(`${hub.issuer}/.well-known/openid-configuration`);
  const metadata = { userinfo_signed_response_alg: 'RS256' };
  const decrypting = await oidc.discovery(server, encrypted.id, metadata, oidc.ClientSecretBasic(encrypted.secret), { execute: [oidc.allowInsecureRequests] });
  oidc.enableDecryptingResponses(decrypting, ['A256GCM'], { key: encrypted.privateKey, alg: 'ECDH-ES', kid: 'enc-1' });
  const asked = oidc.buildAuthorizationUrl(decrypting, { redirect_uri: encrypted.redirectUri, scope: SCOPE }).href;
  const back = new URL(await signIn(new Browser(), asked, { login: 'jane', stopAt: encrypted.redirectUri }));
  const tokens = await oidc.authorizationCodeGrant(decrypting, back, { idTokenExpected: true });
  assert.equal(tokens.id_token.split('.').length, 5);
  const userinfo = await oidc.fetchUserInfo(decrypting, tokens.access_token, tokens.claims().sub);
  assert.equal(userinfo.email, JANE.email);
});

test('neither state nor nonce: none comes back', async () => {
  const back = await logIn(new Browser(), {});
  assert.deepEqual([...back.searchParams.keys()], ['code', 'iss']);
  const tokens = await oidc.authorizationCodeGrant(client, back, { idTokenExpected: true });
  assert.ok(!('nonce' in tokens.claims()));
});

test('PKCE, for a client that uses it', async () => {
  const verifier = oidc.randomPKCECodeVerifier();
  const asked = { code_challenge: await oidc.calculatePKCECodeChallenge(verifier), code_challenge_method: 'S256' };
  const tokens = await oidc.authorizationCodeGrant(client, await logIn(new Browser(), asked), { pkceCodeVerifier: verifier, idTokenExpected: true });
  assert.equal(tokens.claims().aud, sp.id);
  const back = await logIn(new Browser(), asked);
  await assert.rejects(oidc.authorizationCodeGrant(client, back, { pkceCodeVerifier: oidc.randomPKCECodeVerifier() }), { error: 'invalid_grant' });
});

test('a secret in the form, which is what openid-client does unasked', async () => {
  const unasked = await oidc.discovery(
    new URL(`${hub.issuer}/.well-known/openid-configuration`), sp.id, sp.secret, undefined, { execute: [oidc.allowInsecureRequests] },
  );
  const tokens = await oidc.authorizationCodeGrant(unasked, await logIn(new Browser(), {}), { idTokenExpected: true });
  assert.equal(tokens.claims().aud, sp.id);
});

test('form_post', async () => {
  const browser = new Browser();
  const state = 'with <b>"markup"</b> & \u0027quotes\u0027';
  const choice = await browser.open(url({ state, response_mode: 'form_post' }));
  const upstream = await chooseProvider(browser, choice, 'real');
  const page = await browser.submit(upstream, { values: { login: 'jane', password: 'any' } });
  const form = parseForms(page.html, page.url).find(({ action }) => action === sp.redirectUri);
  assert.equal(form?.method, 'POST', page.html);
  const posted = new Request(sp.redirectUri, { method: 'POST', body: new URLSearchParams(form.fields) });
  const tokens = await oidc.authorizationCodeGrant(client, posted, { expectedState: state, idTokenExpected: true });
  assert.equal(tokens.claims().aud, sp.id);
});

test('claims by name: in the ID token, and in userinfo beyond the scopes asked', async () => {
  const claims = JSON.stringify({ id_token: { email: { essential: true } }, userinfo: { nickname: null } });
  const back = await logIn(new Browser(), { scope: 'openid', claims });
  const tokens = await oidc.authorizationCodeGrant(client, back, { idTokenExpected: true });
  assert.equal(tokens.claims().email, JANE.email);
  assert.deepEqual(await oidc.fetchUserInfo(client, tokens.access_token, tokens.claims().sub), { sub: tokens.claims().sub, nickname: 'JD' });
});

test('an account without a claim is a user, and claims of the wrong type are left out', async () => {
  const released = {};
  for (const login of ['bare', 'odd', 'jane']) {
    const tokens = await oidc.authorizationCodeGrant(client, await logIn(new Browser(), {}, login), { idTokenExpected: true });
    const { sub, ...claims } = await oidc.fetchUserInfo(client, tokens.access_token, tokens.claims().sub);
    released[login] = claims;
    released[sub] = login;
  }
  assert.deepEqual([released.bare, released.odd], [{}, { email: 'odd@people.example' }]);
  assert.equal(Object.keys(released).length, 6, 'three accounts, three subjects');
});

test('prompt and max_age: the same auth_time on reuse, a new one after a new authentication', async () => {
  const browser = new Browser();
  const redeem = async (back, more) => (await oidc.authorizationCodeGrant(client, back, { idTokenExpected: true, ...more })).claims();
  assert.equal((await silently(browser)).searchParams.get('error'), 'login_required');
  const first = await redeem(await logIn(browser, {}));
  const reused = await redeem(await silently(browser, { max_age: '10000' }), { maxAge: 10000 });
  assert.deepEqual([reused.sub, reused.auth_time], [first.sub, first.auth_time]);
  assert.equal((await silently(browser, { max_age: '0' })).searchParams.get('error'), 'login_required');
  for (const again of [{ max_age: '0' }, { prompt: 'login' }]) {
    // By the provider's login page, or there would be nothing to fill in. The clock is moved by tests/flow/openid.rs.
    const later = await redeem(await logIn(browser, again));
    assert.equal(later.sub, first.sub);
    assert.ok(later.auth_time >= first.auth_time, JSON.stringify(again));
  }
});

test('Authlib: discovery, code, ID token, userinfo, and prompt=none with and without a session', async () => {
  const program = path.join(path.dirname(fileURLToPath(import.meta.url)), 'python-sp/ordinary.py');
  const child = spawn(process.env.PYTHON ?? 'python3', ['-B', program], {
    stdio: ['pipe', 'pipe', 'pipe'], env: { ...process.env, AUTHLIB_INSECURE_TRANSPORT: '1' }, // http on loopback
  });
  const said = { out: '', err: '' };
  child.stdout.on('data', (chunk) => { said.out += chunk; });
  child.stderr.on('data', (chunk) => { said.err += chunk; });
  child.stdin.end(JSON.stringify({
    issuer: hub.issuer, client_id: sp.id, client_secret: sp.secret, redirect_uri: sp.redirectUri, provider: 'real', login: 'jane', scope: SCOPE,
  }));
  const status = await new Promise((resolve, reject) => { child.once('error', reject); child.once('close', resolve); });
  assert.equal(status, 0, said.err);
  const { id_token: id, userinfo, again, stranger } = JSON.parse(said.out);
  assert.deepEqual(userinfo, { sub: id.sub, ...JANE });
  assert.deepEqual([again.sub, again.auth_time], [id.sub, id.auth_time]);
  assert.equal(stranger.error, 'login_required');
});
