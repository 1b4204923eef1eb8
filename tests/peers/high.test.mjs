// The high platform with a real service provider (npm openid-client): its library decrypts the tokens and responses.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { compactDecrypt, createRemoteJWKSet, decodeProtectedHeader, exportJWK, generateKeyPair, jwtVerify } from 'jose';
import * as oidc from 'openid-client';
import { discoverHub, redeemCode, buildAuthorizationRequest, responseEncryption, startFederation, fetchUserinfo } from './federation.mjs';
import { Browser, answerConsent, chooseProvider, freePorts, startServer, signIn } from './harness.mjs';

const ALGS = ['ECDH-ES', 'RSA-OAEP-256', 'RSA-OAEP'];
const AMR_ASKED = JSON.stringify({ id_token: { amr: { essential: true } } });

/** Creates a key pair of a service provider: { id, alg, kid, privateKey, jwk }. */
async function encryptionKey(alg, how) {
  const id = `${alg.toLowerCase()}-${how}`;
  const { publicKey, privateKey } = await generateKeyPair(alg, { crv: 'P-256', extractable: true });
  return { id, alg, kid: `key-of-${id}`, privateKey, jwk: { ...await exportJWK(publicKey), kid: `key-of-${id}`, use: 'enc', alg } };
}

let federation, published, services;
before(async () => {
  const pairs = await Promise.all(ALGS.flatMap((alg) => [encryptionKey(alg, 'inline'), encryptionKey(alg, 'uri')]));
  // Each service provider publishes its set under its own id.
  published = await startServer((asked, response) => {
    const pair = pairs.find(({ id }) => asked.url === `/${id}`);
    response.writeHead(pair ? 200 : 404, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ keys: pair ? [pair.jwk] : [] }));
  });
  const [closed] = await freePorts(1);
  const files = pairs.map(({ id, alg, jwk }) => (
    [id, { extra: responseEncryption(alg, id.endsWith('-uri') ? `http://localhost:${published.port}/${id}` : [jwk]) }]));
  const silent = { extra: responseEncryption('ECDH-ES', `http://localhost:${closed}/jwks`) };
  federation = await startFederation('hub-high', { ...Object.fromEntries(files), silent }, { platform: 'high', amr: ['pwd', 'otp'] });
  services = pairs.map((pair) => ({ ...pair, ...federation.sps[pair.id] }));
});
after(async () => {
  await federation?.stop();
  await published?.close();
});

/** Returns a client of openid-client that decrypts with `key`, by default the service provider's own. */
async function createClient(sp, key = sp) {
  const client = await discoverHub(federation.hub, sp);
  oidc.enableDecryptingResponses(client, ['A256GCM'], { key: key.privateKey, alg: key.alg, kid: sp.kid });
  return client;
}

/** Performs a login in a new browser, up to the redirect to the service provider. */
async function signInUntilRedirect(client, sp, acr, { claims, ...more } = {}) {
  const authorization = await buildAuthorizationRequest(client, sp, { acr_values: acr, ...(claims && { claims }) });
  const redirect = new URL(await signIn(new Browser(), authorization.url, { stopAt: sp.redirectUri, ...more }));
  return { ...authorization, back: redirect };
}
const tokensFor = (client, { back, verifier, state, nonce }) => oidc.authorizationCodeGrant(client, back, {
  pkceCodeVerifier: verifier, expectedState: state, expectedNonce: nonce, idTokenExpected: true,
});

/** Checks that the JWE header is as registered (R041), decrypts the token and verifies the JWS in it. Returns the claims. */
async function decryptAndVerify(token, sp) {
  const header = decodeProtectedHeader(token);
  const { epk, ...rest } = header;
  assert.deepEqual(rest, { alg: sp.alg, enc: 'A256GCM', cty: 'JWT', kid: sp.kid });
  assert.equal(epk !== undefined, sp.alg === 'ECDH-ES');
  const { plaintext } = await compactDecrypt(token, sp.privateKey);
  const keys = createRemoteJWKSet(new URL(`${federation.hub.issuer}/jwks`));
  const jws = new TextDecoder().decode(plaintext);
  const { payload, protectedHeader } = await jwtVerify(jws, keys, { issuer: federation.hub.issuer, audience: sp.id });
  assert.deepEqual(Object.keys(protectedHeader).sort(), ['alg', 'kid', 'typ']);
  return payload;
}

test('R003 R070: discovery of the high platform says its levels and encryptions', async () => {
  const metadata = (await discoverHub(federation.hub, services[0])).serverMetadata();
  assert.deepEqual(metadata.acr_values_supported, ['eidas2', 'eidas3']);
  for (const token of ['id_token', 'userinfo']) {
    assert.deepEqual([...metadata[`${token}_encryption_alg_values_supported`]].sort(), [...ALGS].sort(), token);
    assert.deepEqual(metadata[`${token}_encryption_enc_values_supported`], ['A256GCM'], token);
  }
});

for (const alg of ALGS) {
  for (const how of ['inline', 'uri']) {
    test(`R005 R007 R009 R038 R041 R042 R161: openid-client decrypts ID token and userinfo: ${alg}, keys ${how}`, async () => {
      const sp = services.find(({ id }) => id === `${alg.toLowerCase()}-${how}`);
      const client = await createClient(sp);
      for (const level of ['eidas2', 'eidas3']) {
        const tokens = await tokensFor(client, await signInUntilRedirect(client, sp, level, { claims: AMR_ASKED }));
        const claims = await decryptAndVerify(tokens.id_token, sp);
        assert.deepEqual(claims, tokens.claims());
        assert.equal(claims.acr, level);
        assert.deepEqual([...claims.amr].sort(), ['hub', 'mfa', 'otp', 'pwd']); // R061: two categories
        const person = await oidc.fetchUserInfo(client, tokens.access_token, claims.sub);
        assert.equal(person.family_name, 'DUBOIS');
        assert.deepEqual(person.given_name_array, ['Angela', 'Claire', 'Louise']);
        const raw = await fetchUserinfo(federation.hub, tokens.access_token);
        assert.equal(raw.headers.get('content-type'), 'application/jwt');
        // The two responses may be signed in different seconds.
        const timeless = ({ iat, exp, ...claims }) => claims;
        assert.deepEqual(timeless(await decryptAndVerify(await raw.text(), sp)), timeless(person));
      }
    });
  }
}

test('R009: on high the identity is the provider\'s, also of someone whom no register knows', async () => {
  const sp = services[0];
  const client = await createClient(sp);
  const tokens = await tokensFor(client, await signInUntilRedirect(client, sp, 'eidas2', { login: 'stranger' }));
  const person = await oidc.fetchUserInfo(client, tokens.access_token, tokens.claims().sub);
  assert.equal(person.family_name, 'INCONNUE');
});

test('a token encrypted to one service provider is decrypted by no other key', async () => {
  const [sp, other] = services.filter(({ alg }) => alg === 'ECDH-ES');
  const client = await createClient(sp, other);
  await assert.rejects(tokensFor(client, await signInUntilRedirect(client, sp, 'eidas2')));
});

test("R003: eidas1 can't be requested", async () => {
  const sp = services[0];
  const authorization = await buildAuthorizationRequest(await createClient(sp), sp, { acr_values: 'eidas1' });
  const { url, stopped } = await new Browser().open(authorization.url, { stopAt: sp.redirectUri });
  assert.ok(stopped);
  assert.equal(new URL(url).searchParams.get('error'), 'invalid_request');
  assert.match(new URL(url).searchParams.get('error_description'), /eidas2 and eidas3/);
});

test('a lower level than asked, or one that the provider is not registered for, is refused, and the person may go on', async () => {
  const sp = services[0];
  const client = await createClient(sp);
  for (const [asks, proves] of [['eidas3', 'eidas2'], ['eidas2', 'eidas1'], ['eidas2', 'silver']]) {
    const browser = new Browser();
    const authorization = await buildAuthorizationRequest(client, sp, { acr_values: asks });
    const upstream = await chooseProvider(browser, await browser.open(authorization.url), 'real');
    const banner = await browser.submit(upstream, { values: { login: 'angela', acr: proves }, stopAt: sp.redirectUri });
    assert.ok(!banner.stopped && banner.status === 200, `${asks} ${proves}: ${banner.status} ${banner.url}`);
    assert.match(banner.html, /Y1000\d\d/, `${asks} ${proves}`);
    const again = await chooseProvider(browser, banner, 'real');
    const consent = await browser.submit(again, { values: { login: 'angela', acr: asks } });
    const back = await answerConsent(browser, consent, 'yes', sp.redirectUri);
    const tokens = await tokensFor(client, { ...authorization, back: new URL(back.url) });
    assert.equal(tokens.claims().acr, asks);
  }
});

test('a higher level than requested is released as achieved; eidas2 may be reused, eidas3 never', async () => {
  const [sp, other] = services;
  const client = await createClient(sp);
  const browser = new Browser();
  const authorization = await buildAuthorizationRequest(client, sp, { acr_values: 'eidas2' });
  const redirect = new URL(await signIn(browser, authorization.url, { stopAt: sp.redirectUri, acr: 'eidas3' }));
  assert.equal((await tokensFor(client, { ...authorization, back: redirect })).claims().acr, 'eidas3'); // R038

  const next = async (acr) => browser.open((await buildAuthorizationRequest(await createClient(other), other, { acr_values: acr, prompt: 'consent' })).url);
  assert.match((await next('eidas2')).html, /\/consent"/);
  assert.match((await next('eidas3')).html, /\/provider"/);
});

test('a service provider whose keys can not be read gets an error at once, and no one signs in for nothing', async () => {
  const { silent } = federation;
  const { url, stopped } = await new Browser().open(
    (await buildAuthorizationRequest(await discoverHub(federation.hub, silent), silent, { acr_values: 'eidas2' })).url, { stopAt: silent.redirectUri });
  assert.ok(stopped);
  assert.equal(new URL(url).searchParams.get('error'), 'temporarily_unavailable');
});

test('R021: on high too the access token is opaque, and the answer says what was granted', async () => {
  const sp = services[0];
  const { back, verifier } = await signInUntilRedirect(await createClient(sp), sp, 'eidas2');
  const { status, body } = await redeemCode(federation.hub, sp, { code: back.searchParams.get('code'), code_verifier: verifier });
  assert.equal(status, 200, JSON.stringify(body));
  assert.ok(!body.access_token.includes('.'));
  assert.equal(body.id_token.split('.').length, 5);
  assert.ok(!('refresh_token' in body));
});

test('the log of a login contains no secret and no identity', async () => {
  const sp = services[0];
  const client = await createClient(sp);
  const tokens = await tokensFor(client, await signInUntilRedirect(client, sp, 'eidas2'));
  assert.equal((await oidc.fetchUserInfo(client, tokens.access_token, tokens.claims().sub)).family_name, 'DUBOIS');
  const log = federation.hub.log();
  assert.notEqual(log, '');
  for (const secret of [...services.map(({ secret: own }) => own), tokens.access_token, tokens.id_token, 'angela@example.org', 'DUBOIS', 'idp-angela']) {
    assert.ok(!log.includes(secret), `the log holds ${secret.slice(0, 4)}…`);
  }
});
