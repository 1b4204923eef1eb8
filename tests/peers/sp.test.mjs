// A real service provider (npm openid-client) and a real identity provider (npm oidc-provider), the hub between them.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from 'jose';
import * as oidc from 'openid-client';
import { discoverHub, redeemCode, buildAuthorizationRequest, startFederation, fetchUserinfo, SCOPE } from './federation.mjs';
import { Browser, answerConsent, chooseProvider, signIn } from './harness.mjs';

let federation, client;
before(async () => {
  federation = await startFederation('hub-sp');
  client = await discoverHub(federation.hub, federation.sp);
});
after(() => federation?.stop());

const AMR_ASKED = JSON.stringify({ id_token: { amr: { essential: true } } });

/** A login up to the redirect with the code, in a fresh browser. */
async function codeFor(more = {}, options = {}) {
  const authorization = await buildAuthorizationRequest(client, federation.sp, more);
  const redirect = new URL(await signIn(new Browser(), authorization.url, { stopAt: federation.sp.redirectUri, ...options }));
  return { ...authorization, back: redirect, code: redirect.searchParams.get('code') };
}
const assertError = (answer, status, error) => {
  assert.equal(answer.status, status, JSON.stringify(answer.body));
  assert.equal(answer.body.error, error);
  assert.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8');
  assert.equal(answer.headers.get('cache-control'), 'no-store');
  assert.ok(answer.body.error_description);
};

test('R070 R071 R100 R101: discovery and keys are what a client library takes', async () => {
  const metadata = client.serverMetadata();
  assert.equal(metadata.issuer, federation.hub.issuer);
  assert.deepEqual(metadata.response_types_supported, ['code']);
  assert.deepEqual(metadata.subject_types_supported, ['pairwise']);
  assert.deepEqual(metadata.acr_values_supported, ['eidas1']);
  assert.deepEqual(metadata.code_challenge_methods_supported, ['S256']);
  assert.equal(metadata.request_uri_parameter_supported, false);
  assert.equal(metadata.authorization_response_iss_parameter_supported, true);
  for (const path of ['/.well-known/openid-configuration', '/jwks']) {
    const response = await fetch(federation.hub.issuer + path);
    assert.equal(response.headers.get('content-type'), 'application/json; charset=utf-8', path);
    assert.equal(response.headers.get('cache-control'), 'public, max-age=600', path);
  }
  const { keys } = await (await fetch(metadata.jwks_uri)).json();
  assert.ok(keys.length >= 2);
  for (const key of keys) {
    assert.ok(key.kid && key.alg && key.use === 'sig', key.kid);
    for (const secret of ['d', 'p', 'q', 'dp', 'dq', 'qi', 'k']) assert.ok(!(secret in key), `a private member ${secret}`);
  }
});

test('R001 R004 R006 R020-R023 R030-R040 R050-R054 R066 R140 R160 R161: one whole login, verified by real libraries', async () => {
  const { hub, sp } = federation;
  const asked = await codeFor({ claims: AMR_ASKED });
  assert.equal(asked.back.searchParams.get('state'), asked.state);
  assert.equal(asked.back.searchParams.get('iss'), hub.issuer);
  const tokens = await oidc.authorizationCodeGrant(client, asked.back, {
    pkceCodeVerifier: asked.verifier, expectedState: asked.state, expectedNonce: asked.nonce, idTokenExpected: true,
  });
  assert.equal(tokens.token_type.toLowerCase(), 'bearer');
  assert.ok(Number.isInteger(tokens.expires_in) && tokens.expires_in > 0);
  assert.deepEqual(tokens.scope.split(' ').sort(), SCOPE.split(' ').sort());
  assert.ok(!('refresh_token' in tokens));
  assert.ok(!tokens.access_token.includes('.'), 'the access token is opaque');

  const keys = createRemoteJWKSet(new URL(client.serverMetadata().jwks_uri));
  const { payload: id, protectedHeader } = await jwtVerify(tokens.id_token, keys, { issuer: hub.issuer, audience: sp.id });
  assert.deepEqual(Object.keys(protectedHeader).sort(), ['alg', 'kid', 'typ']);
  assert.equal(protectedHeader.alg, 'ES256');
  assert.equal(protectedHeader.typ, 'JWT');
  assert.equal(id.aud, sp.id, 'aud is a string');
  assert.equal(id.nonce, asked.nonce);
  assert.equal(id.acr, 'eidas1');
  assert.ok(!('at_hash' in id));
  for (const time of ['exp', 'iat', 'auth_time']) assert.ok(Number.isInteger(id[time]), time);
  assert.deepEqual([...id.amr].sort(), ['hub', 'pwd']); // R060, R062: one factor is no mfa

  // openid-client checks the answer's sub against the ID token's, and its signature against our keys.
  const person = await oidc.fetchUserInfo(client, tokens.access_token, id.sub);
  const expected = {
    sub: id.sub, iss: hub.issuer, aud: sp.id, given_name: 'Angela Claire Louise', given_name_array: ['Angela', 'Claire', 'Louise'],
    family_name: 'DUBOIS', birthdate: '1962-08-24', gender: 'female', birthplace: '75107', birthcountry: '99100',
    email: 'angela@example.org', preferred_username: 'Angie',
  };
  const { exp, iat, ...claims } = person;
  assert.deepEqual(claims, expected);
  assert.ok(Number.isInteger(exp) && Number.isInteger(iat));
  assert.ok(Math.abs(exp - iat - tokens.expires_in) <= 2 && exp > iat, 'exp is the access token\'s end');
  const raw = await fetchUserinfo(hub, tokens.access_token);
  assert.equal(raw.headers.get('content-type'), 'application/jwt');
  const jwt = await raw.text();
  assert.equal(decodeProtectedHeader(jwt).typ, 'JWT');
  await jwtVerify(jwt, keys, { issuer: hub.issuer, audience: sp.id });
  assert.ok(!JSON.stringify([id, person]).includes('idp-angela'), 'the upstream sub never leaves the hub');
});

test('R039 R066: amr is absent unless asked for as essential', async () => {
  for (const claims of [undefined, JSON.stringify({ id_token: { amr: { essential: false } } }), JSON.stringify({ id_token: { amr: null } })]) {
    const asked = await codeFor(claims ? { claims } : {});
    const answer = await redeemCode(federation.hub, federation.sp, { code: asked.code, code_verifier: asked.verifier });
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    const payload = JSON.parse(Buffer.from(answer.body.id_token.split('.')[1], 'base64url'));
    assert.ok(!('amr' in payload), claims);
  }
});

test('R037: two service providers know one person by two subjects, one service provider by one', async () => {
  const { hub, sp, other } = federation;
  const subject = async (who) => {
    const its = await discoverHub(hub, who);
    const authorization = await buildAuthorizationRequest(its, who);
    const redirect = new URL(await signIn(new Browser(), authorization.url, { stopAt: who.redirectUri }));
    const tokens = await oidc.authorizationCodeGrant(its, redirect, { pkceCodeVerifier: authorization.verifier, expectedState: authorization.state, expectedNonce: authorization.nonce });
    return tokens.claims().sub;
  };
  const first = await subject(sp);
  assert.equal(await subject(sp), first);
  assert.notEqual(await subject(other), first);
});

test('R023 R051: what was not asked is not given', async () => {
  const asked = await codeFor({ scope: 'openid family_name' });
  const answer = await redeemCode(federation.hub, federation.sp, { code: asked.code, code_verifier: asked.verifier });
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  assert.deepEqual(answer.body.scope.split(' ').sort(), ['family_name', 'openid']);
  assert.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8'); // R152
  const jwt = await (await fetchUserinfo(federation.hub, answer.body.access_token)).text();
  const payload = JSON.parse(Buffer.from(jwt.split('.')[1], 'base64url'));
  assert.deepEqual(Object.keys(payload).sort(), ['aud', 'exp', 'family_name', 'iat', 'iss', 'sub']);
});

test('R154: a reused code is refused, and what it issued is revoked', async () => {
  const { hub, sp } = federation;
  const asked = await codeFor();
  const first = await redeemCode(hub, sp, { code: asked.code, code_verifier: asked.verifier });
  assert.equal(first.status, 200, JSON.stringify(first.body));
  assert.equal((await fetchUserinfo(hub, first.body.access_token)).status, 200);
  assertError(await redeemCode(hub, sp, { code: asked.code, code_verifier: asked.verifier }), 400, 'invalid_grant');
  const revoked = await fetchUserinfo(hub, first.body.access_token);
  assert.equal(revoked.status, 401); // R163
  assert.match(revoked.headers.get('www-authenticate'), /^Bearer .*error="invalid_token"/);
});

test('ten redemptions of one code at once: at most one gets tokens', async () => {
  const asked = await codeFor();
  const answers = await Promise.all(Array.from({ length: 10 }, () => redeemCode(federation.hub, federation.sp, { code: asked.code, code_verifier: asked.verifier })));
  assert.equal(answers.filter((a) => a.status === 200).length, 1);
});

test('R150 R151: a code of another service provider is refused, and burnt', async () => {
  const { hub, sp, other } = federation;
  const asked = await codeFor();
  assertError(await redeemCode(hub, other, { code: asked.code, code_verifier: asked.verifier }), 400, 'invalid_grant');
  assertError(await redeemCode(hub, sp, { code: asked.code, code_verifier: asked.verifier }), 400, 'invalid_grant');
});

test('R151: a redirect_uri one byte off is refused at the token endpoint', async () => {
  const { hub, sp } = federation;
  const asked = await codeFor();
  const off = { code: asked.code, code_verifier: asked.verifier, redirect_uri: `${sp.redirectUri}/` };
  assertError(await redeemCode(hub, sp, off), 400, 'invalid_grant');
});

test('RFC 7636: a missing, wrong or unasked PKCE verifier is refused', async () => {
  const { hub, sp } = federation;
  for (const code_verifier of [undefined, 'x'.repeat(43)]) {
    assertError(await redeemCode(hub, sp, { code: (await codeFor()).code, code_verifier }), 400, 'invalid_grant');
  }
  const plain = new URL((await buildAuthorizationRequest(client, sp)).url);
  for (const name of ['code_challenge', 'code_challenge_method']) plain.searchParams.delete(name);
  const redirect = new URL(await signIn(new Browser(), plain.href, { stopAt: sp.redirectUri }));
  assertError(await redeemCode(hub, sp, { code: redirect.searchParams.get('code'), code_verifier: 'x'.repeat(43) }), 400, 'invalid_grant');
});

test('R155 R206: a wrong secret and an unknown service provider look the same, and burn no code', async () => {
  const { hub, sp } = federation;
  const asked = await codeFor();
  const fields = { code: asked.code, code_verifier: asked.verifier };
  const wrong = await redeemCode(hub, sp, { ...fields, client_secret: 'x'.repeat(43) });
  const unknown = await redeemCode(hub, sp, { ...fields, client_id: 'stranger' });
  assertError(wrong, 401, 'invalid_client');
  assertError(unknown, 401, 'invalid_client');
  assert.deepEqual(wrong.body, unknown.body);
  assert.equal((await redeemCode(hub, sp, fields)).status, 200);
});

test('R131: cancelling, refusing, and a refusal at the identity provider', async () => {
  const { sp } = federation;
  const denied = (page, asked) => {
    assert.ok(page.stopped, `${page.status} ${page.url}`);
    const query = new URL(page.url).searchParams;
    assert.equal(query.get('error'), 'access_denied');
    assert.ok(query.get('error_description'));
    assert.equal(query.get('state'), asked.state);
    assert.ok(!query.has('code'));
  };
  const stopAt = sp.redirectUri;
  let [browser, authorization] = [new Browser(), await buildAuthorizationRequest(client, sp)];
  denied(await browser.submit(await browser.open(authorization.url), { pick: (f) => f.action.endsWith('/cancel'), stopAt }), authorization);

  [browser, authorization] = [new Browser(), await buildAuthorizationRequest(client, sp)];
  const consent = await browser.submit(await chooseProvider(browser, await browser.open(authorization.url), 'real'), { values: { login: 'angela' } });
  denied(await answerConsent(browser, consent, 'no', stopAt), authorization);

  // The identity provider's own words are never shown; the person is back at the choice and may go on.
  [browser, authorization] = [new Browser(), await buildAuthorizationRequest(client, sp)];
  const banner = await browser.submit(await chooseProvider(browser, await browser.open(authorization.url), 'real'), { values: { login: 'abort' }, stopAt });
  assert.equal(banner.status, 200);
  assert.ok(!banner.html.includes('went'));
  const again = await browser.submit(await chooseProvider(browser, banner, 'real'), { values: { login: 'angela' } });
  assert.ok((await answerConsent(browser, again, 'yes', stopAt)).stopped);
});

test('R008: someone the register does not know ends on a page, with a way back', async () => {
  const { sp } = federation;
  const [browser, authorization] = [new Browser(), await buildAuthorizationRequest(client, sp)];
  const page = await browser.submit(await chooseProvider(browser, await browser.open(authorization.url), 'real'), { values: { login: 'stranger' }, stopAt: sp.redirectUri });
  assert.ok(!page.stopped);
  assert.match(page.html, /Y010/);
  assert.ok(!page.html.includes('INCONNUE'));
});

test('R120: the same login by POST', async () => {
  const authorization = await buildAuthorizationRequest(client, federation.sp);
  const [address, query] = authorization.url.split('?');
  const browser = new Browser();
  const choice = await browser.open(address, { method: 'POST', body: query, headers: { 'content-type': 'application/x-www-form-urlencoded' } });
  const consent = await browser.submit(await chooseProvider(browser, choice, 'real'), { values: { login: 'angela' } });
  assert.ok((await answerConsent(browser, consent, 'yes', federation.sp.redirectUri)).stopped);
});

test('the log of a login contains no secret and no identity', async () => {
  const { back, verifier, state, nonce } = await codeFor();
  const tokens = await oidc.authorizationCodeGrant(client, back, {
    pkceCodeVerifier: verifier, expectedState: state, expectedNonce: nonce, idTokenExpected: true,
  });
  assert.equal((await oidc.fetchUserInfo(client, tokens.access_token, tokens.claims().sub)).family_name, 'DUBOIS');
  const log = federation.hub.log();
  assert.notEqual(log, '');
  for (const secret of [federation.sp.secret, federation.other.secret, tokens.access_token, tokens.id_token, 'angela@example.org', 'DUBOIS', 'idp-angela']) {
    assert.ok(!log.includes(secret), `the log holds ${secret.slice(0, 4)}…`);
  }
});
