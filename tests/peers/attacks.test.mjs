// Requests of attackers and of broken clients, and the hub's responses, on a real socket.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { discoverHub, redeemCode, buildAuthorizationRequest, startFederation } from './federation.mjs';
import { Browser, answerConsent, chooseProvider, parseForms, random, readText, sendRawRequest } from './harness.mjs';

const HTML = 'text/html;charset=UTF-8';
const JSON_TYPE = 'application/json; charset=utf-8';
const FORM = { 'content-type': 'application/x-www-form-urlencoded' };

let federation, client;
before(async () => {
  federation = await startFederation('hub-attacks');
  client = await discoverHub(federation.hub, federation.sp);
});
after(() => federation?.stop());

const begin = async (more) => {
  const [browser, authorization] = [new Browser(), await buildAuthorizationRequest(client, federation.sp, more)];
  const choice = await browser.open(authorization.url, { stopAt: federation.sp.redirectUri });
  return { browser, asked: authorization, choice };
};
/** Starts a login, up to the page of the identity provider. */
async function goToIdp() {
  const login = await begin();
  const upstream = await chooseProvider(login.browser, login.choice, 'real');
  return { ...login, upstream };
}
/** Completes the login that `goToIdp` started, to show that it still works. */
async function finish({ browser, upstream }) {
  const consent = await browser.submit(upstream, { values: { login: 'angela' } });
  const back = await answerConsent(browser, consent, 'yes', federation.sp.redirectUri);
  assert.ok(back.stopped, `${back.status} ${back.url}\n${readText(back.html)}`);
  assert.ok(new URL(back.url).searchParams.get('code'), back.url);
}
/** Signs in at the identity provider. Returns the callback address, which the browser has not requested. */
async function callbackOf({ browser, upstream }) {
  const page = await browser.submit(upstream, { values: { login: 'angela' }, stopAt: `${federation.hub.issuer}/callback/` });
  assert.ok(page.stopped, page.html);
  return page.url;
}
const assertPage = (page, status, code) => {
  assert.equal(page.status, status, `${page.url}: ${readText(page.html)}`);
  assert.equal(page.headers.get('content-type'), HTML);
  assert.equal(page.headers.get('cache-control'), 'no-store');
  if (code) assert.ok(page.html.includes(code), `${code} is not on the page`);
};

test('a forged state is refused, and the login in progress still finishes', async () => {
  const login = await goToIdp();
  const hash = login.choice.url.split('/interaction/')[1];
  for (const state of [random(), `${hash}${random()}`, hash, '', 'é'.repeat(50)]) {
    const page = await login.browser.open(`${federation.hub.issuer}/callback/real?${new URLSearchParams({ state, code: 'forged', iss: federation.idp.issuer })}`);
    assert.ok(page.status >= 400 && page.status < 500, `${state}: ${page.status}`);
    assert.equal(page.headers.get('content-type'), HTML);
  }
  await finish(login);
});

test('a replayed callback gives no second code', async () => {
  const login = await goToIdp();
  const callback = await callbackOf(login);
  const first = await login.browser.open(callback);
  const again = await login.browser.open(callback); // a refresh: the same answer
  assert.equal(again.url, first.url);
  const back = await answerConsent(login.browser, first, 'yes', federation.sp.redirectUri);
  assert.ok(back.stopped);
  const code = new URL(back.url).searchParams.get('code');
  assert.equal((await redeemCode(federation.hub, federation.sp, { code, code_verifier: login.asked.verifier })).status, 200);
  const late = await login.browser.open(callback, { stopAt: federation.sp.redirectUri });
  assert.ok(!late.stopped || !new URL(late.url).searchParams.has('code'), 'a second code');
});

test('R117: a callback from another browser is refused, and its owner still finishes', async () => {
  const login = await goToIdp();
  const callback = await callbackOf(login);
  const thief = await new Browser().open(callback, { stopAt: federation.sp.redirectUri });
  assert.ok(!thief.stopped);
  assert.ok(thief.status >= 400 && thief.status < 500, String(thief.status));
  const consent = await login.browser.open(callback);
  assert.ok((await answerConsent(login.browser, consent, 'yes', federation.sp.redirectUri)).stopped);
});

test('a callback at another connector, or from another issuer (mix-up), is refused', async () => {
  const login = await goToIdp();
  const callback = new URL(await callbackOf(login));
  const elsewhere = new URL(callback);
  elsewhere.pathname = elsewhere.pathname.replace(/real$/, 'other');
  const page = await login.browser.open(elsewhere.href, { stopAt: federation.sp.redirectUri });
  assert.ok(!page.stopped && page.status >= 400);
  callback.searchParams.set('iss', 'https://attacker.example');
  const mixed = await login.browser.open(callback.href, { stopAt: federation.sp.redirectUri });
  assert.ok(!mixed.stopped && !parseForms(mixed.html, mixed.url).some((f) => f.action.endsWith('/consent')), 'the login went on');
});

test('R117: another login\'s interaction hash opens nothing', async () => {
  const [mine, other] = [await begin(), await begin()];
  const stolen = await mine.browser.open(other.choice.url);
  assert.ok(stolen.status >= 400 && stolen.status < 500, String(stolen.status));
  const [form] = parseForms(mine.choice.html, mine.choice.url).filter((f) => f.action.endsWith('/provider'));
  const body = new URLSearchParams([...form.fields, ['provider', 'real']]);
  const crossed = await mine.browser.step(`${other.choice.url}/provider`, { method: 'POST', body, headers: FORM });
  assert.ok(crossed.status >= 400 && crossed.status < 500, String(crossed.status));
  for (const forged of ['x', random(), '../../../etc/passwd', '%00']) {
    const page = await mine.browser.step(`${federation.hub.issuer}/interaction/${encodeURIComponent(forged)}`);
    assert.ok(page.status >= 400 && page.status < 500, `${forged}: ${page.status}`);
  }
});

test('Y47: a form without its token, or with another\'s, or from another site, is refused; the login goes on', async () => {
  const { browser, choice } = await begin();
  const form = parseForms(choice.html, choice.url).find((f) => f.action.endsWith('/provider'));
  const token = Object.fromEntries(form.fields).csrf;
  assert.ok(token);
  const foreign = parseForms((await begin()).choice.html, choice.url).find((f) => f.action.endsWith('/provider')).fields;
  const send = (fields, headers = {}) => browser.step(form.action, { method: 'POST', body: new URLSearchParams(fields), headers: { ...FORM, ...headers } });
  assertPage(await send([['provider', 'real']]), 403, 'Y470001');
  assertPage(await send([...foreign, ['provider', 'real']]), 403, 'Y470002');
  assertPage(await send([['csrf', token], ['provider', 'real']], { 'sec-fetch-site': 'cross-site' }), 403, 'Y470003');
  const cancel = choice.url + '/cancel';
  const purpose = await browser.step(cancel, { method: 'POST', body: new URLSearchParams({ csrf: token }), headers: FORM });
  assertPage(purpose, 403, 'Y470002'); // a token serves one purpose
  const gone = await send([['csrf', token], ['provider', 'real']], { 'sec-fetch-site': 'same-origin' });
  assert.equal(gone.status, 303);
});

test('a consent sent twice at once gives one code', async () => {
  const login = await goToIdp();
  const consent = await login.browser.submit(login.upstream, { values: { login: 'angela' } });
  const form = parseForms(consent.html, consent.url).find((f) => f.action.endsWith('/consent'));
  const body = new URLSearchParams([...form.fields, ['answer', 'yes']]).toString();
  const answers = await Promise.all(Array.from({ length: 5 }, () => login.browser.step(form.action, { method: 'POST', body, headers: FORM })));
  const codes = answers.filter((a) => a.location?.startsWith(federation.sp.redirectUri)).map((a) => new URL(a.location).searchParams.get('code'));
  assert.ok(codes.length >= 1);
  assert.equal(new Set(codes).size, 1);
});

test('an unknown Host is answered 421 before anything else', async () => {
  for (const path of ['/api/v2/jwks', '/api/v2/authorize', '/nowhere']) {
    for (const host of ['attacker.example', 'localhost.attacker.example', 'localhost:1']) {
      assert.equal((await sendRawRequest(federation.hub.base + path, { headers: { host } })).status, 421, `${host} ${path}`);
    }
  }
});

test('an oversized body is answered 413, in the endpoint\'s own type', async () => {
  const body = `code=${'x'.repeat(65 * 1024)}`;
  const headers = { ...FORM, 'content-length': body.length };
  const types = { '/token': JSON_TYPE, '/authorize': HTML };
  for (const [path, type] of Object.entries(types)) {
    const answer = await sendRawRequest(federation.hub.issuer + path, { method: 'POST', headers, body });
    assert.equal(answer.status, 413, path);
    assert.equal(answer.headers['content-type'], type, path);
  }
});

test('R119 R221: a malformed authorization request is a 400 page, never a redirect', async () => {
  const { url } = await buildAuthorizationRequest(client, federation.sp);
  const address = url.split('?')[0];
  const spoil = {
    'client_id missing': (q) => q.delete('client_id'),
    'client_id unknown': (q) => q.set('client_id', 'stranger'),
    'client_id twice': (q) => q.append('client_id', federation.sp.id),
    'redirect_uri missing': (q) => q.delete('redirect_uri'),
    'redirect_uri one byte off': (q) => q.set('redirect_uri', `${federation.sp.redirectUri}/`),
    'redirect_uri in another case': (q) => q.set('redirect_uri', federation.sp.redirectUri.replace('callback', 'Callback')),
    'redirect_uri of another service provider': (q) => q.set('redirect_uri', federation.other.redirectUri),
    'redirect_uri twice': (q) => q.append('redirect_uri', 'https://attacker.example/'),
    'state missing': (q) => q.delete('state'),
    'state of 21 characters': (q) => q.set('state', 'x'.repeat(21)),
    'state twice': (q) => q.append('state', random()),
    'state not ASCII': (q) => q.set('state', 'é'.repeat(30)),
    'state of 4,097 characters': (q) => q.set('state', 'x'.repeat(4097)),
    'nonce missing': (q) => q.delete('nonce'),
    'nonce of 21 characters': (q) => q.set('nonce', 'x'.repeat(21)),
    'nonce twice': (q) => q.append('nonce', random()),
    'scope empty': (q) => q.set('scope', ''),
    'acr_values missing': (q) => q.delete('acr_values'),
    'response_type missing': (q) => q.delete('response_type'),
    'code_challenge twice': (q) => q.append('code_challenge', 'x'.repeat(43)),
  };
  for (const [name, change] of Object.entries(spoil)) {
    const query = new URLSearchParams(url.split('?')[1]);
    change(query);
    const page = await new Browser().step(`${address}?${query}`);
    assert.equal(page.status, 400, name);
    assertPage(page, 400, 'Y000400');
    assert.ok(!page.html.includes('attacker.example'), name);
  }
});

test('R112 R113: state and nonce of 22 characters do by GET, not by POST', async () => {
  const { url } = await buildAuthorizationRequest(client, federation.sp, { state: 'x'.repeat(22), nonce: 'y'.repeat(22) });
  assert.equal((await new Browser().step(url)).status, 303);
  const [address, body] = url.split('?');
  assertPage(await new Browser().step(address, { method: 'POST', body, headers: FORM }), 400, 'Y000400');
});

test('R120: POST authorize in another type, or with a query, is the 400 page', async () => {
  const { url } = await buildAuthorizationRequest(client, federation.sp);
  const [address, body] = url.split('?');
  for (const type of ['application/json', 'text/plain', 'multipart/form-data; boundary=x']) {
    assertPage(await new Browser().step(address, { method: 'POST', body, headers: { 'content-type': type } }), 400, 'Y000400');
  }
  assertPage(await new Browser().step(`${address}?a=b`, { method: 'POST', body, headers: FORM }), 400, 'Y000400');
});

test('R118 R130: an error of a valid request travels by redirect', async () => {
  const challenge = { code_challenge: 'x'.repeat(43), code_challenge_method: 'S256' };
  const table = [
    [{ response_type: 'token' }, 'unsupported_response_type'],
    [{ scope: 'profile' }, 'invalid_request'],
    [{ claims: '[]' }, 'invalid_request'],
    [{ claims: '{"id_token":{},"id_token":{}}' }, 'invalid_request'],
    [{ prompt: 'none login' }, 'invalid_request'],
    [{ prompt: 'dance' }, 'invalid_request'],
    [{ prompt: 'none' }, 'login_required'],
    [{ max_age: '-1' }, 'invalid_request'],
    [{ ...challenge, code_challenge_method: 'plain' }, 'invalid_request'],
    [{ acr_values: 'eidas2 eidas3' }, 'invalid_request'],
    [{ request: 'x.y.z' }, 'request_not_supported'],
    [{ request_uri: 'https://attacker.example/' }, 'request_uri_not_supported'],
    [{ registration: '{}' }, 'registration_not_supported'],
  ];
  for (const [change, error] of table) {
    const authorization = await buildAuthorizationRequest(client, federation.sp);
    const url = new URL(authorization.url);
    for (const [name, value] of Object.entries(change)) url.searchParams.set(name, value);
    const page = await new Browser().step(url.href);
    assert.equal(page.status, 303, JSON.stringify(change));
    assert.equal(page.headers.get('content-type'), HTML);
    assert.ok(page.location.startsWith(federation.sp.redirectUri), page.location);
    const query = new URL(page.location).searchParams;
    assert.equal(query.get('error'), error, JSON.stringify(change));
    assert.equal(query.get('state'), authorization.state);
    assert.equal(query.get('iss'), federation.hub.issuer);
    assert.match(query.get('error_description'), /^[\x20-\x7e]+$/);
  }
});

test('R116: a good request is answered 303 to its interaction, with a body that holds no link', async () => {
  const page = await new Browser().step((await buildAuthorizationRequest(client, federation.sp)).url);
  assert.equal(page.status, 303);
  assert.equal(page.headers.get('content-type'), HTML);
  assert.match(page.location, new RegExp(`^${federation.hub.issuer}/interaction/[A-Za-z0-9_-]{43}$`));
  assert.ok(!/href|http/i.test(page.html), page.html);
  const [cookie] = page.headers.getSetCookie();
  for (const attribute of [/HttpOnly/i, /SameSite=Lax/i, /Path=\//i]) assert.match(cookie, attribute);
  assert.ok(!/Domain=/i.test(cookie));
});

test('R121: the older prefix answers 303 with the same query', async () => {
  const { url } = await buildAuthorizationRequest(client, federation.sp);
  const page = await new Browser().step(url.replace('/api/v2/', '/api/v1/'));
  assert.equal(page.status, 303);
  assert.equal(page.location, url);
});

test('HEAD moves no login; wrong methods are 405 with Allow', async () => {
  const login = await goToIdp();
  const callback = await callbackOf(login);
  for (const address of [login.choice.url, callback, login.asked.url]) {
    const answer = await login.browser.step(address, { method: 'HEAD' });
    assert.equal(answer.status, 405, address);
    assert.ok(answer.headers.get('allow'), address);
  }
  assert.equal((await sendRawRequest(`${federation.hub.issuer}/jwks`, { method: 'HEAD' })).status, 200);
  assert.equal((await sendRawRequest(`${federation.hub.issuer}/callback/real`, { method: 'POST', headers: FORM, body: 'a=b' })).status, 404);
  const token = await sendRawRequest(`${federation.hub.issuer}/token`);
  assert.equal(token.status, 405);
  assert.equal(token.headers['content-type'], JSON_TYPE);
  const consent = await login.browser.open(callback);
  assert.ok((await answerConsent(login.browser, consent, 'yes', federation.sp.redirectUri)).stopped);
});

test('R150 R153: a malformed token request is 400 JSON that names the parameter', async () => {
  const { hub, sp } = federation;
  for (const name of ['grant_type', 'redirect_uri', 'code', 'client_secret', 'client_id']) {
    const answer = await redeemCode(hub, sp, { code: random(), code_verifier: random(), [name]: undefined });
    assert.equal(answer.status, 400, name);
    assert.equal(answer.body.error, 'invalid_request', name);
    assert.match(answer.body.error_description, new RegExp(name));
    assert.equal(answer.headers.get('content-type'), JSON_TYPE);
  }
  const form = new URLSearchParams({ grant_type: 'authorization_code', client_id: sp.id, client_secret: sp.secret, redirect_uri: sp.redirectUri, code: random() });
  const twice = await sendRawRequest(`${hub.issuer}/token`, { method: 'POST', headers: FORM, body: `${form}&code=again` });
  assert.equal(JSON.parse(twice.text).error, 'invalid_request');
  const json = await sendRawRequest(`${hub.issuer}/token`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(Object.fromEntries(form)) });
  assert.equal(json.status, 400);
  assert.equal(json.headers['content-type'], JSON_TYPE);
  assert.equal((await redeemCode(hub, sp, { code: random(), grant_type: 'password' })).body.error, 'unsupported_grant_type');
  assert.equal((await redeemCode(hub, sp, { code: random(), code_verifier: random() })).body.error, 'invalid_grant');
});

test('R162 R163: userinfo without a good token', async () => {
  const address = `${federation.hub.issuer}/userinfo`;
  for (const headers of [{}, { authorization: 'Basic eDp5' }, { authorization: 'Bearer' }, { authorization: 'Bearer a b' }]) {
    const answer = await sendRawRequest(address, { headers });
    assert.equal(answer.status, 400, JSON.stringify(headers));
    assert.equal(answer.headers['content-type'], JSON_TYPE);
    assert.match(answer.headers['www-authenticate'], /^Bearer .*error="invalid_request"/);
    assert.equal(JSON.parse(answer.text).error, 'invalid_request');
  }
  assert.equal((await sendRawRequest(`${address}?access_token=${random()}`)).status, 400);
  const unknown = await sendRawRequest(address, { headers: { authorization: `Bearer ${random()}` } });
  assert.equal(unknown.status, 401);
  assert.match(unknown.headers['www-authenticate'], /error="invalid_token"/);
});

test('pages carry their protections, and the private paths are not public', async () => {
  const { choice } = await begin();
  const policy = choice.headers.get('content-security-policy');
  for (const part of ["default-src 'none'", "base-uri 'none'", "frame-ancestors 'none'"]) assert.ok(policy.includes(part), part);
  assert.ok(!policy.includes('form-action') && !policy.includes('unsafe'));
  assert.equal(choice.headers.get('x-frame-options'), 'DENY');
  assert.equal(choice.headers.get('referrer-policy'), 'no-referrer');
  assert.equal(choice.headers.get('x-content-type-options'), 'nosniff');
  for (const path of ['/livez', '/readyz', '/metrics', '/admin', '/nowhere']) {
    const page = await new Browser().step(federation.hub.base + path);
    assertPage(page, 404, 'Y000404');
  }
  assert.equal((await fetch(`${federation.hub.privateBase}/metrics`)).status, 200);
});
