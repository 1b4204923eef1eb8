// Identity providers that don't speak OpenID Connect: a real directory (slapd, over TLS), and a provider of OAuth 2.0 alone.
// The latter is a few lines here, shaped as GitHub is: oidc-provider's userinfo wants the openid scope, so it can't play one.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import * as oidc from 'openid-client';
import { ACCOUNT, BASE, PASSWORD, startDirectory } from './directory.mjs';
import { Browser, IDP_CLIENT, IDP_SECRET, chooseProvider, parseForms, freePorts, random, startServer, startHub } from './harness.mjs';

const SCOPES = ['openid', 'profile', 'email'];
const HEAD = 'levels = { lowest = "eidas1", highest = "eidas1" }\nassumed_level = "eidas1"';

const ldap = (id, url, more = '') => `name = { en = "Town hall", fr = "Mairie" }
${HEAD}
amr = ["pwd"]
[kind.ldap]
url = "${url}"
bind_dn = "${ACCOUNT.dn}"
bind_password = { file = "secrets/connectors/${id}/password" }
base_dn = "ou=people,${BASE}"
filter = "(|(uid={username})(employeeNumber={username}))"
attributes = ["givenName", "sn", "mail"]
internal_hosts = ["localhost"]
${more}
`;

/** GitHub's shape: codes bound to PKCE and to the redirect URI, JSON only on demand, errors with status 200. */
async function startHosting() {
  const asked = [];
  const codes = new Map();
  const user = { id: 4242, login: 'angela', name: 'Angela Dubois', email: 'angela@example.org', updated_at: '2026-01-01T00:00:00Z' };
  const server = await startServer(async (request, response) => {
    const url = new URL(request.url, 'http://localhost');
    const json = (body, status = 200) => response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    if (url.pathname === '/authorize') {
      const query = Object.fromEntries(url.searchParams);
      asked.push(query);
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
      const sent = codes.get(form.code);
      codes.delete(form.code);
      if (request.headers.accept !== 'application/json') return response.writeHead(200, { 'content-type': 'application/x-www-form-urlencoded' }).end('access_token=x');
      if (form.client_id !== IDP_CLIENT || form.client_secret !== IDP_SECRET) return json({ error: 'incorrect_client_credentials' });
      const challenge = createHash('sha256').update(form.code_verifier ?? '').digest('base64url');
      if (!sent || sent.redirect_uri !== form.redirect_uri || sent.code_challenge_method !== 'S256' || sent.code_challenge !== challenge) return json({ error: 'bad_verification_code' });
      return json({ access_token: 'gho_token', token_type: 'bearer', scope: 'read:user' });
    }
    if (url.pathname === '/user' && request.headers.authorization === 'Bearer gho_token' && request.headers['user-agent']) return json(user);
    return json({ message: 'Requires authentication' }, 401);
  });
  return { base: `http://127.0.0.1:${server.port}`, user, asked, close: server.close };
}

let hub, directory, hosting, sp, client;
before(async () => {
  const [port, privatePort, dead] = await freePorts(3);
  [directory, hosting] = await Promise.all([startDirectory(), startHosting()]);
  sp = { id: 'ordinary', secret: random(32), redirectUri: `http://localhost:${port}/sp/ordinary/callback` };
  const tls = `ldaps://localhost:${directory.tlsPort}`;
  hub = await startHub('hub-kinds', {
    port, privatePort, register: '', settings: 'identity_source = "provider"\nsubject = "provider"\naudit.sink = "file"',
    files: { ...Object.fromEntries(['town', 'begun', 'forged', 'dead'].map((id) => [`secrets/connectors/${id}/password`, ACCOUNT.password])), 'ca.pem': directory.ca, 'other-ca.pem': directory.otherCa },
    sps: [{ ...sp, redirectUris: [sp.redirectUri], scopes: SCOPES, extra: 'rules = "openid"\nconsent = "none"' }],
    connectors: {
      town: ldap('town', tls, 'ca = "ca.pem"'),
      begun: ldap('begun', `ldap://localhost:${directory.port}`, 'starttls = true\nca = "ca.pem"'),
      forged: ldap('forged', tls, 'ca = "other-ca.pem"'),
      dead: ldap('dead', `ldaps://localhost:${dead}`, 'ca = "ca.pem"'),
      hosting: `name = { en = "Code hosting" }
${HEAD}
[kind.oauth2]
issuer = "https://hosting.example"
client_id = "${IDP_CLIENT}"
client_secret = { file = "idp.secret" }
scopes = ["read:user"]
subject_claim = "id"
auth_time = "callback"
reauthenticates = true
reauthentication_params = { prompt = "select_account" }
insecure_http = true
internal_hosts = ["127.0.0.1"]
[kind.oauth2.endpoints]
authorization = "${hosting.base}/authorize"
token = "${hosting.base}/token"
userinfo = "${hosting.base}/user"
`,
    },
  });
  client = await oidc.discovery(
    new URL(`${hub.issuer}/.well-known/openid-configuration`), sp.id, undefined, oidc.ClientSecretPost(sp.secret),
    { execute: [oidc.allowInsecureRequests, oidc.enableNonRepudiationChecks] },
  );
});
after(async () => { await hub?.stop(); await directory?.stop(); await hosting?.close(); });

const authorize = () => oidc.buildAuthorizationUrl(client, {
  redirect_uri: sp.redirectUri, scope: SCOPES.join(' '), prompt: 'login', claims: '{"id_token":{"amr":{"essential":true}}}',
}).href;
const pageOf = async (browser, connector) => chooseProvider(browser, await browser.open(authorize()), connector, sp.redirectUri);
const submitPassword = (browser, page, username, password) => browser.submit(page, { values: { username, password }, stopAt: sp.redirectUri });

/** Redeems the code of the redirect. Returns the claims of the ID token and of userinfo. */
async function fetchClaims(back) {
  assert.ok(back.stopped, `${back.status} ${back.url}\n${back.html}`);
  const tokens = await oidc.authorizationCodeGrant(client, new URL(back.url), { idTokenExpected: true });
  const claims = tokens.claims();
  return { claims, person: await oidc.fetchUserInfo(client, tokens.access_token, claims.sub) };
}

test('a person of a real directory signs in over TLS, and over StartTLS, as one and the same', async () => {
  for (const connector of ['town', 'begun']) {
    const browser = new Browser();
    const page = await pageOf(browser, connector);
    assert.ok(new URL(page.url).pathname === `/connectors/${connector}/login` && page.html.includes('Sign in with “Town hall”'), page.html);
    assert.equal(page.headers.get('cache-control'), 'no-store');
    const before = Math.floor(Date.now() / 1000);
    const { claims } = await fetchClaims(await submitPassword(browser, page, 'angela', PASSWORD));
    assert.deepEqual(claims.amr.toSorted(), ['hub', 'pwd']);
    assert.ok(claims.auth_time >= before - 1, 'the moment of the bind');
    const again = new Browser();
    assert.equal((await fetchClaims(await submitPassword(again, await pageOf(again, connector), 'ANGELA', PASSWORD))).claims.sub, claims.sub);
  }
  assert.ok(!hub.log().includes('angela') && !hub.log().includes('ssword'), 'no name and no password in the log');
});

test('what the check says of a real directory, and of a provider without OpenID Connect', async () => {
  const check = (connector) => new Promise((done) => {
    const args = ['check', 'connector', `${hub.folder}/connectors/${connector}.toml`, '--config', hub.folder, '--online', '--json'];
    execFile(process.env.HUB_BIN, args, (error, out) => done(JSON.parse(out)));
  });
  const statuses = ({ diagnostics }) => Object.fromEntries(diagnostics.map(({ name, status }) => [name, status]));
  const well = { file: 'ok', reachable: 'ok', certificate: 'warning', account: 'ok', 'base-dn': 'ok', filter: 'ok', subject: 'ok', lockout: 'warning', 'received-claims': 'ok' };
  for (const connector of ['town', 'begun']) assert.deepEqual(statuses(await check(connector)), well, 'its certificate is for a day, and it has no policy');
  for (const [connector, finding] of [['forged', 'certificate'], ['dead', 'reachable']]) {
    assert.deepEqual(statuses(await check(connector)), { file: 'ok', [finding]: 'error', 'received-claims': 'ok' });
  }
  const provider = { file: 'ok', reachable: 'ok', certificate: 'warning', userinfo: 'ok', 'client-authentication': 'ok', 'received-claims': 'ok' };
  assert.deepEqual(statuses(await check('hosting')), provider, 'there is no TLS');
});

test('no one signs in by a wrong password, none, a pattern or a name that two have', async () => {
  const browser = new Browser();
  const page = await pageOf(browser, 'town');
  const tries = [['angela', 'wrong', 403], ['stranger', PASSWORD, 403], ['*', PASSWORD, 403], ['twin', PASSWORD, 403], ['angela', '', 400], ['', PASSWORD, 400]];
  const said = new Set();
  for (const [username, password, status] of tries) {
    const answer = await submitPassword(browser, page, username, password);
    assert.equal(answer.status, status, `${username} ${password}: ${answer.url}`);
    assert.ok(!answer.html.includes('ssword "with"') && !answer.html.includes('wrong"'), 'a password comes back');
    if (status === 403) said.add(answer.html.match(/id="sign-in-error"[^>]*>([\s\S]*?)<\/div>/)[1]);
  }
  assert.equal(said.size, 1, 'whatever was wrong, the page says the same');
  // Each try that the directory refused is in the audit log, without the name or the password.
  const refused = async (tries = 0) => {
    const lines = readFileSync(path.join(hub.folder, 'audit/audit.jsonl'), 'utf8').split('\n').filter((line) => line.includes('"password_refused"'));
    return lines.length >= 4 || tries > 200 ? lines : (await setTimeout(20), refused(tries + 1));
  };
  const lines = await refused();
  assert.equal(lines.length, 4);
  for (const line of lines) assert.ok(line.includes('"idp":"town"') && !/angela|stranger|wrong/.test(line) && !line.includes(PASSWORD), line);
  // A name may hold what is a pattern elsewhere.
  await fetchClaims(await submitPassword(browser, page, 'star*', PASSWORD));
});

test('a form without its protection, or of another browser, is refused before the directory is asked', async () => {
  const browser = new Browser();
  const page = await pageOf(browser, 'town');
  const [form] = parseForms(page.html, page.url).filter(({ method }) => method === 'POST');
  const send = (who, csrf) => who.open(form.action, {
    method: 'POST', stopAt: sp.redirectUri, headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ ...Object.fromEntries(form.fields), csrf, username: 'angela', password: PASSWORD }),
  });
  const good = Object.fromEntries(form.fields).csrf;
  for (const [who, csrf, code] of [[browser, '', 'Y470001'], [browser, 'x'.repeat(43), 'Y470002'], [new Browser(), good, 'Y420002']]) {
    const answer = await send(who, csrf);
    assert.ok(answer.html.includes(code), `${code}: ${answer.html}`);
  }
  assert.equal((await new Browser().open(`${hub.base}/connectors/hosting/login?state=x`)).status, 404, 'a kind without such a page');
});

test('guessing is slowed down, for one name and whatever the login', async () => {
  for (let tries = 0; tries < 5; tries += 1) {
    const browser = new Browser();
    const answer = await submitPassword(browser, await pageOf(browser, 'begun'), 'twin-1', 'wrong');
    assert.equal(answer.status, 403);
    assert.equal(answer.html.includes('You have one more try'), tries === 3, `after ${tries + 1} wrong passwords`);
  }
  const browser = new Browser();
  const late = await submitPassword(browser, await pageOf(browser, 'begun'), 'twin-1', PASSWORD);
  assert.ok(late.status === 429 && Number(late.headers.get('retry-after')) > 0 && /Wait 15 minutes/.test(late.html), late.html);
});

test('a certificate of another authority and an unavailable directory are reported with their code, and the login goes on', async () => {
  for (const [connector, code] of [['forged', 'Y020123'], ['dead', 'Y020003']]) {
    const browser = new Browser();
    const offered = await browser.open(authorize());
    if (!parseForms(offered.html, offered.url).some((form) => form.buttons.some(({ value }) => value === connector))) {
      // The hub's own probes were faster than this person: it is disabled, and the log says why.
      assert.match(offered.html, /Out of order at the moment/);
      assert.match(hub.log(), new RegExp(`circuit opened.*connector=${connector}\\b.*${code}`));
      continue;
    }
    const page = await submitPassword(browser, await chooseProvider(browser, offered, connector, sp.redirectUri), 'angela', PASSWORD);
    assert.ok(page.status === 502 && page.html.includes(code), page.html);
    const back = page.html.match(/<a class="button plain" href="([^"]+)"/)[1];
    const choice = await browser.open(new URL(back, hub.base).href);
    await fetchClaims(await submitPassword(browser, await chooseProvider(browser, choice, 'town'), 'angela', PASSWORD));
  }
});

test('a person of a provider without OpenID Connect signs in, and is known by what never changes', async () => {
  const first = await fetchClaims(await pageOf(new Browser(), 'hosting'));
  assert.equal(first.person.email, 'angela@example.org');
  assert.equal(first.person.name, 'Angela Dubois');
  assert.deepEqual(first.claims.amr, ['hub']);
  hosting.user.login = 'renamed';
  assert.equal((await fetchClaims(await pageOf(new Browser(), 'hosting'))).claims.sub, first.claims.sub);
  hosting.user.id += 1;
  assert.notEqual((await fetchClaims(await pageOf(new Browser(), 'hosting'))).claims.sub, first.claims.sub);
  for (const query of hosting.asked) {
    assert.deepEqual(Object.keys(query).sort(), ['client_id', 'code_challenge', 'code_challenge_method', 'prompt', 'redirect_uri', 'response_type', 'scope', 'state']);
  }
  delete hosting.user.id;
  const refused = await pageOf(new Browser(), 'hosting');
  assert.ok(!refused.stopped && refused.html.includes('Y020122'), refused.html);
});
