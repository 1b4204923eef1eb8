// What an operator stumbles over when an ordinary identity provider is connected, against the real program: an identity provider
// behind TLS of a private authority, which returns an unlisted acr, ignores prompt=login, leaves claims out of its ID token, and
// publishes its ES256 key only after the first signature, as Keycloak does. The operator reads each cause in the program's log
// and on the login's page; the person's page shows the code alone.
import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:https';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { SignJWT, exportJWK, generateKeyPair } from 'jose';
import { Browser, IDP_CLIENT, IDP_SECRET, chooseProvider, freePorts, program, random, readText, startHub, tomlString } from './harness.mjs';

const SCOPES = ['openid', 'profile', 'email'];
// The test's browser takes any certificate; the hub, which is another process, does not.
process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
const HOSTILE_ACR = `1\u001b[2J\n${'x'.repeat(4000)}`;

/** An authority of its own, and a server certificate for localhost by it. */
function certificates() {
  const folder = mkdtempSync(path.join(tmpdir(), 'passerelle-ca-'));
  const file = (name) => path.join(folder, name);
  const request = (name, ...more) => execFileSync('openssl', [
    'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '30', '-keyout', file(`${name}.key`), '-out', file(`${name}.pem`), ...more,
  ], { stdio: 'pipe' });
  request('ca', '-subj', '/CN=Authority of the test');
  request('other-ca', '-subj', '/CN=Another authority');
  request('server', '-subj', '/CN=idp', '-CA', file('ca.pem'), '-CAkey', file('ca.key'), '-addext', 'subjectAltName=DNS:localhost', '-addext', 'basicConstraints=critical,CA:FALSE');
  const read = (name) => readFileSync(file(name), 'utf8');
  const made = { ca: read('ca.pem'), otherCa: read('other-ca.pem'), key: read('server.key'), cert: read('server.pem') };
  rmSync(folder, { recursive: true });
  return made;
}

/**
 * An identity provider that signs everybody in at once. `behaviour` changes what it does: { claims(claims) → claims, refuse }.
 * `left` holds the query of each authorization request.
 */
async function startIdp({ key, cert }) {
  const es256 = await generateKeyPair('ES256', { extractable: true });
  const rs256 = await generateKeyPair('RS256', { extractable: true });
  const published = [{ ...await exportJWK(rs256.publicKey), use: 'sig', alg: 'RS256', kid: 'rsa' }];
  const state = { behaviour: {}, left: [], publishes: () => published.map(({ kid }) => kid) };
  const codes = new Map();
  let issuer;
  const server = createServer({ key, cert }, async (request, response) => {
    const url = new URL(request.url, issuer);
    const json = (body, status = 200) => response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    if (url.pathname === '/.well-known/openid-configuration') {
      return json({
        issuer, authorization_endpoint: `${issuer}/authorize`, token_endpoint: `${issuer}/token`, userinfo_endpoint: `${issuer}/userinfo`,
        jwks_uri: `${issuer}/jwks`, end_session_endpoint: `${issuer}/logout`, response_types_supported: ['code'], subject_types_supported: ['public'],
        id_token_signing_alg_values_supported: ['RS256', 'ES256'], token_endpoint_auth_methods_supported: ['client_secret_post', 'private_key_jwt'],
        acr_values_supported: ['0', '1'], scopes_supported: ['openid', 'profile', 'email', 'web-origins'], code_challenge_methods_supported: ['S256'],
      });
    }
    if (url.pathname === '/jwks') return json({ keys: published });
    if (url.pathname === '/authorize') {
      const query = Object.fromEntries(url.searchParams);
      state.left.push(query);
      const code = random();
      codes.set(code, query);
      const back = new URL(query.redirect_uri);
      back.search = new URLSearchParams({ code, state: query.state });
      return response.writeHead(302, { location: back.href }).end();
    }
    if (url.pathname === '/token') {
      let body = '';
      for await (const chunk of request) body += chunk;
      const form = Object.fromEntries(new URLSearchParams(body));
      if (form.client_assertion) return json({ error: 'invalid_client', error_description: 'Invalid token audience' }, 401);
      if (form.client_id !== IDP_CLIENT || form.client_secret !== IDP_SECRET) return json({ error: 'invalid_client' }, 401);
      const sent = codes.get(form.code);
      codes.delete(form.code);
      const challenge = createHash('sha256').update(form.code_verifier ?? '').digest('base64url');
      if (!sent || sent.code_challenge !== challenge) return json({ error: 'invalid_grant' }, 400);
      if (published.length === 1) published.push({ ...await exportJWK(es256.publicKey), use: 'sig', alg: 'ES256', kid: 'ec' });
      const now = Math.floor(Date.now() / 1000);
      const usual = { iss: issuer, sub: 'person-4711', aud: IDP_CLIENT, exp: now + 60, iat: now, auth_time: now, nonce: sent.nonce };
      const claims = state.behaviour.claims?.(usual) ?? usual;
      const id_token = await new SignJWT(claims).setProtectedHeader({ alg: 'ES256', kid: 'ec' }).sign(es256.privateKey);
      return json({ access_token: 'token', token_type: 'Bearer', id_token });
    }
    if (url.pathname === '/userinfo') return json({ sub: 'person-4711', name: 'Canary Person', email: 'canary@example.org' });
    return json({}, 404);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  issuer = `https://localhost:${server.address().port}`;
  return Object.assign(state, { issuer, close: () => new Promise((done) => { server.close(done); server.closeAllConnections(); }) });
}

const connector = (issuer, { head = '', kind = '' } = {}) => `name = { en = "Company" }
levels = { lowest = "eidas1", highest = "eidas1" }
${head}
[kind.oidc]
issuer = ${tomlString(issuer)}
client_id = ${tomlString(IDP_CLIENT)}
scopes = ["openid", "profile", "email"]
internal_hosts = ["localhost"]
${kind}
`;
const oauth2 = (issuer, ca) => `name = { en = "OAuth alone" }
levels = { lowest = "eidas1", highest = "eidas1" }
assumed_level = "eidas1"
[kind.oauth2]
issuer = ${tomlString(issuer)}
client_id = ${tomlString(IDP_CLIENT)}
client_secret = { file = "idp.secret" }
subject_claim = "sub"
auth_time = "callback"
reauthentication_params = { prompt = "login" }
internal_hosts = ["localhost"]
${ca}
[kind.oauth2.endpoints]
authorization = "${issuer}/authorize"
token = "${issuer}/token"
userinfo = "${issuer}/userinfo"
`;
const SECRET = 'client_secret = { file = "idp.secret" }';
const ASSUMED = 'assumed_level = "eidas1"';
const BY_CA = { head: `${ASSUMED}\nignore_acr = true`, kind: `${SECRET}\nca = "ca.pem"` };

let hub, idp, sp, token;
before(async () => {
  const [port, privatePort] = await freePorts(2);
  const { ca, otherCa, ...tls } = certificates();
  idp = await startIdp(tls);
  sp = { id: 'ordinary', secret: random(32), redirectUri: `http://localhost:${port}/sp/callback` };
  hub = await startHub('attack-connector-setup', {
    port, privatePort, register: '', settings: 'identity_source = "provider"\nsubject = "provider"\naudit.sink = "file"',
    files: {
      'ca.pem': ca, 'other-ca.pem': otherCa,
      'unknown-scope.toml': connector(idp.issuer, BY_CA).replace('"email"]', '"email", "identite_pivot"]'),
      'assertion.toml': connector(idp.issuer, { ...BY_CA, kind: 'token_endpoint_auth_method = "private_key_jwt"\nca = "ca.pem"' }),
      'ignoring.toml': connector(idp.issuer, BY_CA),
      'strict.toml': connector(idp.issuer, { ...BY_CA, head: ASSUMED }),
      'machine.toml': connector(idp.issuer, { ...BY_CA, kind: SECRET }),
      'other.toml': connector(idp.issuer, { ...BY_CA, kind: `${SECRET}\nca = "other-ca.pem"` }),
    },
    sps: [{ ...sp, redirectUris: [sp.redirectUri], scopes: SCOPES, extra: 'rules = "openid"\nconsent = "none"' }],
    connectors: {
      ignoring: connector(idp.issuer, BY_CA),
      strict: connector(idp.issuer, { ...BY_CA, head: ASSUMED }),
      quiet: connector(idp.issuer, { ...BY_CA, head: 'acr = { send = false, eidas1 = ["1"] }' }),
      machine: connector(idp.issuer, { ...BY_CA, kind: SECRET }),
      plain: oauth2(idp.issuer, 'ca = "ca.pem"'),
      'plain-machine': oauth2(idp.issuer, ''),
    },
  });
  token = readFileSync(path.join(hub.folder, 'admin.token'), 'utf8');
});
after(async () => { await hub?.stop(); await idp?.close(); });

/** Findings of `check connector … --online` by their names, and the exit code. */
const check = (file) => new Promise((resolve, reject) => {
  const args = ['check', 'connector', path.join(hub.folder, file), '--config', hub.folder, '--online', '--json'];
  execFile(program, args, (error, stdout, stderr) => {
    try {
      const { diagnostics } = JSON.parse(stdout);
      resolve({ code: error?.code ?? 0, of: Object.fromEntries(diagnostics.map((diagnostic) => [diagnostic.name, diagnostic])) });
    } catch {
      reject(new Error(`${error} ${stdout} ${stderr}`));
    }
  });
});

const authorize = (more = {}) => `${hub.issuer}/authorize?${new URLSearchParams({
  client_id: sp.id, redirect_uri: sp.redirectUri, response_type: 'code', scope: SCOPES.join(' '), state: random(), nonce: random(), ...more,
})}`;

async function signIn(id, more) {
  const browser = new Browser();
  return chooseProvider(browser, await browser.open(authorize(more)), id, sp.redirectUri);
}

/** What the operator reads of a login that has failed: the log's line, and the event on the login's page and in its JSON. */
async function operatorReads(page, code) {
  assert.ok(!page.stopped && page.html.includes(code), `${page.url}\n${readText(page.html)}`);
  const [, supportId] = page.html.match(/data-reference="([0-9A-HJKMNP-TV-Z]{12})"/);
  const headers = { authorization: `Bearer ${token}` };
  const login = await (await fetch(`${hub.privateBase}/admin/logins/${supportId}`, { headers })).json();
  const event = login.events.find((one) => one.code === code);
  const console_ = await (await fetch(`${hub.privateBase}/admin/logins/${supportId}`, { headers: { ...headers, accept: 'text/html' } })).text();
  const line = hub.log().split('\n').find((one) => one.includes(supportId) && one.includes('call to the identity provider failed'));
  assert.ok(event?.detail && line, JSON.stringify(login));
  for (const secret of ['person-4711', 'Canary', 'canary@']) {
    for (const shown of [line, console_, JSON.stringify(login)]) assert.ok(!shown.includes(secret), `${secret} in ${shown}`);
  }
  const audit = readFileSync(path.join(hub.folder, 'audit/audit.jsonl'), 'utf8');
  assert.ok(!audit.includes('detail') && !audit.includes('[acr]'), 'the audit log has no field for text');
  return { detail: event.detail, line, page: page.html };
}

// First, for it is about the time before the first login.
test('an ES256 key that Keycloak makes at its first login is no fault of check, and no fault of that login', async () => {
  assert.deepEqual(idp.publishes(), ['rsa']);
  const early = await check('ignoring.toml');
  assert.deepEqual([early.of.keys.status, early.code], ['warning', 2], JSON.stringify(early.of, null, 1));
  assert.match(early.of.keys.message, /ES256 yet.*Keycloak/);
  assert.ok((await signIn('ignoring')).stopped);
  const late = await check('ignoring.toml');
  assert.deepEqual([late.of.keys.status, late.code], ['ok', 0], JSON.stringify(late.of, null, 1));
});

test('an identity provider of a private authority is reached by ca, and by nothing else', async () => {
  const { of } = await check('ignoring.toml');
  assert.deepEqual([of.certificate.status, of.reachable.status], ['ok', 'ok']);
  for (const file of ['machine.toml', 'other.toml']) {
    const found = await check(file);
    assert.deepEqual([found.code, found.of.certificate.status], [1, 'error'], file);
    assert.match(found.of.certificate.fix, /ca/);
  }
  // The hub itself does not believe it without `ca` either, though another connector's `ca` names the authority.
  assert.match((await signIn('machine')).html, /Y020003/);
  assert.ok((await signIn('plain')).stopped, 'oauth2 with ca');
  assert.match((await signIn('plain-machine')).html, /Y020003/);
});

test('an unlisted acr beside assumed_level: check warns, the operator reads the value, ignore_acr signs in', async () => {
  const warned = (await check('strict.toml')).of.acr;
  assert.equal(warned.status, 'warning');
  assert.match(`${warned.message} ${warned.fix}`, /0, 1.*ignore_acr = true/);
  idp.behaviour = { claims: (claims) => ({ ...claims, acr: '1' }) };
  const { detail, line } = await operatorReads(await signIn('strict'), 'Y100001');
  for (const shown of [detail, line]) assert.match(shown, /acr \\?"1\\?".*ignore_acr = true/);
  assert.ok((await signIn('ignoring')).stopped);

  idp.behaviour = { claims: (claims) => ({ ...claims, acr: HOSTILE_ACR }) };
  const hostile = await operatorReads(await signIn('strict'), 'Y100001');
  assert.match(hostile.detail, /^[ -~]{1,300}$/);
  assert.ok(!hostile.line.includes('\u001b'), 'no control sequence of a stranger');
  assert.ok(!hostile.page.includes('xxxx'), 'the person reads no value');
});

test('[acr] with send = false leaves acr_values out, and the returned acr counts', async () => {
  idp.behaviour = { claims: (claims) => ({ ...claims, acr: '1' }) };
  assert.ok((await signIn('quiet')).stopped);
  assert.equal(idp.left.at(-1).acr_values, undefined);
});

test('a scope that the identity provider does not list is a fault, with those that it lists', async () => {
  const { code, of } = await check('unknown-scope.toml');
  assert.deepEqual([code, of.scopes.status], [1, 'error']);
  assert.match(of.scopes.message, /identite_pivot.*openid, profile, email, web-origins/);
});

test('an identity provider that ignores prompt=login is diagnosed by name, to the operator', async () => {
  idp.behaviour = { claims: (claims) => ({ ...claims, auth_time: claims.iat - 3600 }) };
  const { detail, line, page } = await operatorReads(await signIn('ignoring', { prompt: 'login' }), 'Y020370');
  assert.equal(idp.left.at(-1).prompt, 'login');
  for (const shown of [detail, line]) assert.match(shown, /ignored prompt=login/);
  assert.ok(!page.includes('prompt=login'), 'the person can do nothing about it');
  assert.ok((await signIn('ignoring')).stopped, 'logins that demand no fresh one go on');
});

test('a refused assertion names client_assertion_audience', async () => {
  const { of } = await check('assertion.toml');
  assert.equal(of['client-authentication'].status, 'error');
  assert.match(of['client-authentication'].fix, /client_assertion_audience = "token_endpoint"/);
});

test('the claim that an ID token lacks is named, and no value is', async () => {
  idp.behaviour = { claims: ({ sub, ...claims }) => claims };
  const { detail, line } = await operatorReads(await signIn('ignoring'), 'Y020033');
  for (const shown of [detail, line]) assert.match(shown, /required claim sub is missing/);
});
