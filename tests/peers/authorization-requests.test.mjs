// Pushed authorization requests (RFC 9126), request objects (RFC 9101) and signed responses (JARM), on both sides: npm openid-client
// as the service provider, npm oidc-provider as the identity provider, which demands all three of the hub.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { exportJWK, generateKeyPair } from 'jose';
import * as oidc from 'openid-client';
import { SCOPE, discoverHub, startFederation } from './federation.mjs';
import { Browser, random, signIn, tomlString } from './harness.mjs';

let federation, signing, encryption;
before(async () => {
  signing = await generateKeyPair('ES256', { extractable: true });
  encryption = await generateKeyPair('ECDH-ES', { extractable: true });
  const published = async ({ publicKey }, kid, use) => ({ ...await exportJWK(publicKey), kid, use });
  const keys = [await published(signing, 'signing', 'sig'), await published(encryption, 'encryption', 'enc')];
  const tables = keys.flatMap((key) => ['[[jwks.keys]]', ...Object.entries(key).map(([name, value]) => `${name} = ${tomlString(value)}`)]).join('\n');
  federation = await startFederation('hub-authorization-requests', {
    pushing: { extra: 'require_pushed_authorization_requests = true' },
    signer: { extra: `request_object_signing_alg = "ES256"\nrequire_signed_request_object = true\n${tables}` },
    listener: { extra: 'authorization_signed_response_alg = "ES256"' },
    encrypted: { extra: `authorization_signed_response_alg = "ES256"\nauthorization_encrypted_response_alg = "ECDH-ES"\n${tables}` },
  }, {
    settings: 'pushed_authorization_requests = "accepted"',
    features: { requestObjects: { enabled: true }, jwtResponseModes: { enabled: true }, pushedAuthorizationRequests: { enabled: true } },
    client: (port) => ({
      require_pushed_authorization_requests: true, require_signed_request_object: true, request_object_signing_alg: 'ES256',
      authorization_signed_response_alg: 'ES256', jwks_uri: `http://localhost:${port}/api/v2/client/jwks`,
    }),
    connector: 'pushed_authorization_requests = "auto"\nrequest_objects = "on"\nauthorization_signed_response_alg = "ES256"',
  });
});
after(() => federation?.stop());

/** The parameters of a request, and what its answer is checked with. */
async function parameters(sp, more = {}) {
  const [state, nonce, verifier] = [random(32), random(32), oidc.randomPKCECodeVerifier()];
  const sent = {
    redirect_uri: sp.redirectUri, response_type: 'code', scope: SCOPE, acr_values: 'eidas1', state, nonce,
    code_challenge: await oidc.calculatePKCECodeChallenge(verifier), code_challenge_method: 'S256', ...more,
  };
  return { sent, checks: { pkceCodeVerifier: verifier, expectedState: state, expectedNonce: nonce, idTokenExpected: true } };
}

async function completes(client, sp, url, checks, browser = new Browser()) {
  const redirect = await signIn(browser, url.href, { stopAt: sp.redirectUri });
  const tokens = await oidc.authorizationCodeGrant(client, new URL(redirect), checks);
  const person = await oidc.fetchUserInfo(client, tokens.access_token, tokens.claims().sub);
  assert.equal(person.family_name, 'DUBOIS');
  return new URL(redirect);
}

test('RFC 9126: a pushed request is a whole login, once, and is demanded where that is registered', async () => {
  const sp = federation.pushing;
  const client = await discoverHub(federation.hub, sp);
  const { sent, checks } = await parameters(sp);
  const url = await oidc.buildAuthorizationUrlWithPAR(client, sent);
  assert.deepEqual([...url.searchParams.keys()].sort(), ['client_id', 'request_uri']);
  await completes(client, sp, url, checks);
  assert.equal((await new Browser().open(url.href)).status, 400, 'a replay');
  const direct = oidc.buildAuthorizationUrl(client, (await parameters(sp)).sent);
  const response = await fetch(direct, { redirect: 'manual' });
  assert.equal(new URL(response.headers.get('location')).searchParams.get('error'), 'invalid_request');
  await assert.rejects(oidc.buildAuthorizationUrlWithPAR(client, { ...sent, scope: 'email' }), (error) => error.error === 'invalid_request');
});

test('RFC 9101: a signed request is a whole login, in the address and pushed; an unsigned one is refused', async () => {
  const sp = federation.signer;
  const client = await discoverHub(federation.hub, sp);
  const first = await parameters(sp);
  const key = { key: signing.privateKey, kid: 'signing' };
  const url = await oidc.buildAuthorizationUrlWithJAR(client, first.sent, key);
  await completes(client, sp, url, first.checks);
  const second = await parameters(sp);
  const signed = await oidc.buildAuthorizationUrlWithJAR(client, second.sent, key);
  await completes(client, sp, await oidc.buildAuthorizationUrlWithPAR(client, signed.searchParams), second.checks);
  await assert.rejects(oidc.buildAuthorizationUrlWithPAR(client, second.sent), (error) => error.error === 'invalid_request');
  const stranger = await generateKeyPair('ES256');
  const forged = await oidc.buildAuthorizationUrlWithJAR(client, (await parameters(sp)).sent, { key: stranger.privateKey, kid: 'signing' });
  assert.equal((await new Browser().open(forged.href)).status, 400);
});

test('JARM: a signed response is verified, and an encrypted one decrypted', async () => {
  for (const sp of [federation.listener, federation.encrypted]) {
    const client = await discoverHub(federation.hub, sp);
    oidc.useJwtResponseMode(client);
    client.clientMetadata().authorization_signed_response_alg = 'ES256';
    if (sp === federation.encrypted) oidc.enableDecryptingResponses(client, ['A256GCM'], { key: encryption.privateKey, kid: 'encryption' });
    const { sent, checks } = await parameters(sp);
    const back = await completes(client, sp, oidc.buildAuthorizationUrl(client, sent), checks);
    assert.deepEqual([...back.searchParams.keys()], ['response']);
    assert.equal(back.searchParams.get('response').split('.').length, sp === federation.encrypted ? 5 : 3);
    const silent = (await parameters(sp, { prompt: 'none' }));
    const refused = await fetch(oidc.buildAuthorizationUrl(client, silent.sent), { redirect: 'manual' });
    await assert.rejects(oidc.authorizationCodeGrant(client, new URL(refused.headers.get('location')), silent.checks), (error) => error.error === 'login_required');
  }
});

test('the hub pushes its own signed request, and its browser carries neither parameters nor a plain answer', async () => {
  const client = await discoverHub(federation.hub, federation.sp);
  const { sent, checks } = await parameters(federation.sp);
  const browser = new Browser();
  const seen = [];
  const step = browser.step.bind(browser);
  browser.step = (url, options) => { seen.push(url); return step(url, options); };
  await completes(client, federation.sp, oidc.buildAuthorizationUrl(client, sent), checks, browser);
  const names = (start) => seen.filter((url) => url.startsWith(start)).map((url) => [...new URL(url).searchParams.keys()].sort());
  assert.deepEqual(names(`${federation.idp.issuer}/auth?`), [['client_id', 'request_uri']]);
  assert.deepEqual(names(`${federation.hub.issuer}/callback/real?`), [['response']]);
});
