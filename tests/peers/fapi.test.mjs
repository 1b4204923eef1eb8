// FAPI 2.0 as a real client does it (npm openid-client): pushed requests, private_key_jwt and DPoP; with message signing also signed
// requests (JAR) and signed responses (JARM); on standard for one service provider, on high for the whole hub.
import assert from 'node:assert/strict';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { exportJWK, generateKeyPair } from 'jose';
import * as oidc from 'openid-client';
import { SCOPE, discoverHub, responseEncryption, startFederation } from './federation.mjs';
import { Browser, random, signIn, tomlString } from './harness.mjs';
import { startDialogue, createFolder, springApplication } from './recipes.mjs';

let standard, high, signing, encryption;
const others = {}; // keys of the other algorithms
const keyOf = () => ({ key: signing.privateKey, kid: 'signs' });
const published = async ({ publicKey }, kid, use) => ({ ...await exportJWK(publicKey), kid, use });

before(async () => {
  signing = await generateKeyPair('ES256', { extractable: true });
  encryption = await generateKeyPair('ECDH-ES', { extractable: true });
  const keys = [await published(signing, 'signs', 'sig'), await published(encryption, 'opens', 'enc')];
  const tablesOf = (set) => set.flatMap((key) => ['[[jwks.keys]]', ...Object.entries(key).map(([name, value]) => `${name} = ${tomlString(value)}`)]).join('\n');
  const tables = tablesOf(keys);
  for (const alg of ['PS256', 'EdDSA']) others[alg] = await generateKeyPair(alg, { extractable: true, modulusLength: 2048 });
  const signsBy = async (alg) => ({ secret: undefined, extra: `profile = "fapi2-message-signing"\ntoken_endpoint_auth_method = "private_key_jwt"
token_endpoint_auth_signing_alg = "${alg}"\nrequest_object_signing_alg = "${alg}"\n${tablesOf([await published(others[alg], 'signs', 'sig')])}` });
  const signs = 'token_endpoint_auth_method = "private_key_jwt"';
  const file = (profile, more = '') => ({ secret: undefined, extra: `profile = ${tomlString(profile)}\n${signs}\n${more}\n${tables}` });
  standard = await startFederation('hub-fapi', {
    bank: file('fapi2'),
    plain: { scopes: ['openid', 'profile'], ...file('fapi2', 'rules = "openid"\nconsent = "required"\nuserinfo_signed_response_alg = "ES256"') },
    notary: file('fapi2-message-signing'),
    PS256: await signsBy('PS256'),
    EdDSA: await signsBy('EdDSA'),
    keeping: file('fapi2', 'consent = "required"\nrefresh_tokens = {}'),
  }, { settings: 'pushed_authorization_requests = "accepted"' });
  high = await startFederation('hub-fapi-high', {
    vault: { secret: undefined, extra: `${signs}\n${responseEncryption('ECDH-ES', keys)}` },
  }, { platform: 'high', settings: 'pushed_authorization_requests = "required"\nprofile = "fapi2-message-signing"' });
});
after(async () => { await standard?.stop(); await high?.stop(); });

/** openid-client as this service provider, with a DPoP key of its own. */
async function clientOf({ hub }, sp, alg = 'ES256', key = keyOf()) {
  const client = await discoverHub(hub, sp, oidc.PrivateKeyJwt(key));
  return { client, DPoP: oidc.getDPoPHandle(client, await oidc.randomDPoPKeyPair(alg)) };
}

/** The parameters of a request, and what its answer is checked with. */
async function parameters(sp, more = {}) {
  const [state, nonce, verifier] = [random(32), random(32), oidc.randomPKCECodeVerifier()];
  const sent = {
    redirect_uri: sp.redirectUri, response_type: 'code', scope: SCOPE, acr_values: 'eidas1', state, nonce,
    code_challenge: await oidc.calculatePKCECodeChallenge(verifier), code_challenge_method: 'S256', ...more,
  };
  return { sent, checks: { pkceCodeVerifier: verifier, expectedState: state, expectedNonce: nonce, idTokenExpected: true } };
}

const back = async (sp, url) => new URL(await signIn(new Browser(), url.href, { stopAt: sp.redirectUri }));

async function completes({ client, DPoP }, url, checks) {
  const tokens = await oidc.authorizationCodeGrant(client, url, checks, undefined, { DPoP });
  assert.equal(tokens.token_type, 'dpop');
  const person = await oidc.fetchUserInfo(client, tokens.access_token, tokens.claims().sub, { DPoP });
  assert.equal(person.family_name, 'DUBOIS');
  return tokens;
}

for (const alg of ['ES256', 'PS256', 'EdDSA']) {
  test(`FAPI 2.0 Security Profile: a whole login with a DPoP key of ${alg}, whose code and token are bound to it`, async () => {
    const sp = standard.bank;
    const own = await clientOf(standard, sp, alg);
    const { sent, checks } = await parameters(sp);
    const url = await oidc.buildAuthorizationUrlWithPAR(own.client, sent, { DPoP: own.DPoP });
    assert.deepEqual([...url.searchParams.keys()].sort(), ['client_id', 'request_uri']);
    const answered = await back(sp, url);
    assert.equal(answered.searchParams.get('iss'), standard.hub.issuer);
    const tokens = await completes(own, answered, checks);
    const bearer = await fetch(`${standard.hub.issuer}/userinfo`, { headers: { authorization: `Bearer ${tokens.access_token}` } });
    assert.equal(bearer.status, 401);
  });
}

test('FAPI 2.0 Security Profile under the rules of plain OpenID Connect', async () => {
  const sp = standard.plain;
  const own = await clientOf(standard, sp);
  const { sent, checks } = await parameters(sp, { scope: 'openid profile', acr_values: '' });
  const url = await oidc.buildAuthorizationUrlWithPAR(own.client, sent, { DPoP: own.DPoP });
  await completes(own, await back(sp, url), checks);
});

test('FAPI 2.0 Security Profile: an attack has no way around the pushed request, the assertion and the keys', async () => {
  const sp = standard.bank;
  const own = await clientOf(standard, sp);
  const direct = oidc.buildAuthorizationUrl(own.client, (await parameters(sp)).sent);
  const refused = await fetch(direct, { redirect: 'manual' });
  assert.equal(new URL(refused.headers.get('location')).searchParams.get('error'), 'invalid_request');
  const { sent } = await parameters(sp);
  delete sent.code_challenge;
  delete sent.code_challenge_method;
  await assert.rejects(oidc.buildAuthorizationUrlWithPAR(own.client, sent), (error) => error.error === 'invalid_request');
  const stranger = await generateKeyPair('ES256');
  const forging = await discoverHub(standard.hub, sp, oidc.PrivateKeyJwt({ key: stranger.privateKey, kid: 'signs' }));
  await assert.rejects(oidc.buildAuthorizationUrlWithPAR(forging, (await parameters(sp)).sent), (error) => error.error === 'invalid_client');
  // A thief of the code who has the client's own key, and another DPoP key than that of the push; then one without any.
  for (const DPoP of [(await clientOf(standard, sp)).DPoP, undefined]) {
    const { sent: honest, checks } = await parameters(sp);
    const url = await oidc.buildAuthorizationUrlWithPAR(own.client, honest, { DPoP: own.DPoP });
    const stolen = await back(sp, url);
    await assert.rejects(
      oidc.authorizationCodeGrant(own.client, stolen, checks, undefined, { DPoP }),
      (error) => error.error === (DPoP ? 'invalid_grant' : 'invalid_dpop_proof'),
    );
  }
  const weak = await clientOf(standard, sp, 'RS256');
  await assert.rejects(oidc.buildAuthorizationUrlWithPAR(weak.client, (await parameters(sp)).sent, { DPoP: weak.DPoP }), (error) => error.error === 'invalid_dpop_proof');
});

test('FAPI 2.0 Security Profile: a refresh token is bound to the keys and not replaced', async () => {
  const sp = standard.keeping;
  const own = await clientOf(standard, sp);
  const { sent, checks } = await parameters(sp, { scope: `${SCOPE} offline_access` });
  const url = await oidc.buildAuthorizationUrlWithPAR(own.client, sent, { DPoP: own.DPoP });
  const { refresh_token: token } = await completes(own, await back(sp, url), checks);
  for (const round of [1, 2]) {
    const renewed = await oidc.refreshTokenGrant(own.client, token, undefined, { DPoP: own.DPoP });
    assert.equal(renewed.token_type, 'dpop', `round ${round}`);
    assert.equal(renewed.refresh_token, undefined);
  }
  await assert.rejects(oidc.refreshTokenGrant(own.client, token), (error) => error.error === 'invalid_dpop_proof');
});

/** Signs a request and pushes it; the answer is read by the library, which verifies its signature. */
async function signedRequest(own, sent, key = keyOf()) {
  const url = await oidc.buildAuthorizationUrlWithJAR(own.client, sent, key);
  return oidc.buildAuthorizationUrlWithPAR(own.client, url.searchParams, { DPoP: own.DPoP });
}

test('FAPI 2.0 Message Signing: a signed request that is pushed, and a signed response', async () => {
  const sp = standard.notary;
  const own = await clientOf(standard, sp);
  oidc.useJwtResponseMode(own.client);
  own.client.clientMetadata().authorization_signed_response_alg = 'ES256';
  const { sent, checks } = await parameters(sp, { response_mode: 'jwt' });
  const answered = await back(sp, await signedRequest(own, sent));
  assert.deepEqual([...answered.searchParams.keys()], ['response']);
  await completes(own, answered, checks);
  const silent = await parameters(sp, { response_mode: 'jwt', prompt: 'none' });
  const refused = await fetch(await signedRequest(own, silent.sent), { redirect: 'manual' });
  await assert.rejects(
    oidc.authorizationCodeGrant(own.client, new URL(refused.headers.get('location')), silent.checks, undefined, { DPoP: own.DPoP }),
    (error) => error.error === 'login_required',
  );
  const unsigned = (await parameters(sp, { response_mode: 'jwt' })).sent;
  await assert.rejects(oidc.buildAuthorizationUrlWithPAR(own.client, unsigned), (error) => error.error === 'invalid_request');
  // Without the mode, a response that the browser could forge.
  await assert.rejects(signedRequest(await clientOf(standard, sp), (await parameters(sp)).sent), (error) => error.error === 'invalid_request');
});

for (const alg of ['PS256', 'EdDSA']) {
  test(`FAPI 2.0 Message Signing: assertions and requests signed by ${alg}`, async () => {
    const sp = standard[alg];
    const key = { key: others[alg].privateKey, kid: 'signs' };
    const own = await clientOf(standard, sp, alg, key);
    oidc.useJwtResponseMode(own.client);
    const { sent, checks } = await parameters(sp, { response_mode: 'jwt' });
    await completes(own, await back(sp, await signedRequest(own, sent, key)), checks);
    await assert.rejects(signedRequest(own, (await parameters(sp)).sent), (error) => error.error === 'invalid_request_object');
  });
}

test('FAPI 2.0 Message Signing for a whole hub on high: metadata without anything weaker, and an encrypted ID token', async () => {
  const sp = high.vault;
  const own = await clientOf(high, sp);
  const metadata = own.client.serverMetadata();
  assert.equal(metadata.require_pushed_authorization_requests, true);
  assert.equal(metadata.require_signed_request_object, true);
  assert.deepEqual(metadata.token_endpoint_auth_methods_supported, ['private_key_jwt']);
  assert.deepEqual(metadata.id_token_signing_alg_values_supported, ['ES256']);
  assert.deepEqual(metadata.response_modes_supported, ['query.jwt', 'form_post.jwt', 'jwt']);
  oidc.useJwtResponseMode(own.client);
  own.client.clientMetadata().authorization_signed_response_alg = 'ES256';
  oidc.enableDecryptingResponses(own.client, ['A256GCM'], { key: encryption.privateKey, kid: 'opens' });
  const { sent, checks } = await parameters(sp, { response_mode: 'jwt', acr_values: 'eidas2' });
  await completes(own, await back(sp, await signedRequest(own, sent)), checks);
});

const { skip, build } = springApplication('nimbus-fapi');
for (const [id, mode] of [['bank', 'plain'], ['notary', 'signed']]) {
  test(`FAPI 2.0 by the Nimbus SDK, Java, with ${mode} requests and responses`, { skip, timeout: 300_000 }, async (t) => {
    const jar = await build();
    const sp = standard[id];
    const { folder, remove } = createFolder({ 'key.jwk': JSON.stringify({ ...await exportJWK(signing.privateKey), kid: 'signs' }) });
    t.after(remove);
    const client = startDialogue('java', ['-jar', jar, standard.hub.issuer, sp.id, sp.redirectUri, path.join(folder, 'key.jwk'), mode]);
    t.after(client.stop);
    const answered = await back(sp, new URL(await client.line()));
    client.say(answered.href);
    assert.deepEqual(JSON.parse(await client.line()), { token_type: 'DPoP', same: true, family_name: 'DUBOIS' });
  });
}
