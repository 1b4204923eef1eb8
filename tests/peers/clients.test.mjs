// How a real client library (npm openid-client) proves itself at the token endpoint, by each method, and what the hub
// says to one that uses another than it registered (R201; RFC 6749, 2.3.1; RFC 7523).
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { SignJWT, exportJWK, generateKeyPair } from 'jose';
import * as oidc from 'openid-client';
import { discoverHub, buildAuthorizationRequest, startFederation } from './federation.mjs';
import { Browser, random, startServer, sha256, signIn } from './harness.mjs';

const JWT_BEARER = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
/** Of characters that form-encoding changes: a library that leaves them as they are does not get in. */
const SECRET = `a secret: with %, + and &, of ${random(8)}`;
const NEXT_SECRET = random(32);

let federation, signers, published;
before(async () => {
  const pair = async (alg, kid) => {
    const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
    return { kid, key: privateKey, jwk: { ...await exportJWK(publicKey), kid, alg, use: 'sig' } };
  };
  signers = { ec: await pair('ES256', 'ec-1'), rsa: await pair('RS256', 'rsa-1'), next: await pair('RS256', 'rsa-2') };
  const set = { keys: [signers.rsa.jwk] };
  published = { set, server: await startServer((_, response) => response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(set))) };
  const key = Object.entries(signers.ec.jwk).map(([name, value]) => `${name} = "${value}"`).join('\n');
  const hash = (secret) => sha256(secret).toString('hex');
  const dates = (from, to) => `not_before = ${new Date(Date.now() + from * 1000).toISOString()}, not_after = ${new Date(Date.now() + to * 1000).toISOString()}`;
  federation = await startFederation('hub-clients', {
    header: { secret: SECRET, extra: 'token_endpoint_auth_method = "client_secret_basic"' },
    signer: { secret: undefined, extra: `token_endpoint_auth_method = "private_key_jwt"\n[[jwks.keys]]\n${key}` },
    publisher: {
      secret: undefined,
      extra: `token_endpoint_auth_method = "private_key_jwt"
token_endpoint_auth_signing_alg = "RS256"
jwks_uri = "http://127.0.0.1:${published.server.port}/jwks"
insecure_http = true
internal_hosts = ["127.0.0.1"]`,
    },
    rotating: {
      secret: undefined,
      extra: `secrets = [
  { sha256 = "${hash(SECRET)}", ${dates(-7200, 3600)} },
  { sha256 = "${hash(NEXT_SECRET)}", ${dates(-60, 7200)} },
  { sha256 = "${hash('an older secret, of 32 characters or more')}", ${dates(-7200, -120)} },
]`,
    },
  });
});
after(async () => { await federation?.stop(); await published?.server.close(); });

/** A whole login by openid-client, verified by it. */
async function logIn(sp, authentication) {
  const client = await discoverHub(federation.hub, sp, authentication);
  const authorization = await buildAuthorizationRequest(client, sp);
  const redirect = new URL(await signIn(new Browser(), authorization.url, { stopAt: sp.redirectUri }));
  const checks = { pkceCodeVerifier: authorization.verifier, expectedState: authorization.state, expectedNonce: authorization.nonce, idTokenExpected: true };
  const tokens = await oidc.authorizationCodeGrant(client, redirect, checks);
  assert.equal(tokens.claims().aud, sp.id);
  const person = await oidc.fetchUserInfo(client, tokens.access_token, tokens.claims().sub);
  assert.equal(person.family_name, 'DUBOIS');
}
/** The library's error is about the body or, where there is one, about the challenge. */
const refused = (login) => assert.rejects(login, (error) => {
  assert.equal(error.status, 401, String(error));
  assert.ok(error.error === 'invalid_client' || error.code === 'OAUTH_WWW_AUTHENTICATE_CHALLENGE', String(error));
  return true;
});
const post = (fields, headers = {}) => fetch(`${federation.hub.issuer}/token`, { method: 'POST', body: new URLSearchParams({ grant_type: 'authorization_code', redirect_uri: 'x', code: 'x', ...fields }), headers });

test('client_secret_basic: both halves form-encoded, as the library does', () => logIn(federation.header, oidc.ClientSecretBasic(SECRET)));

test('private_key_jwt: ES256, keys in the file', () => logIn(federation.signer, oidc.PrivateKeyJwt(signers.ec)));

test('private_key_jwt: typ client-authentication+jwt', () => logIn(federation.signer, oidc.PrivateKeyJwt(signers.ec, {
  [oidc.modifyAssertion]: (header) => { header.typ = 'client-authentication+jwt'; },
})));

test('private_key_jwt: RS256, keys at the jwks_uri, and a key that was added since', async () => {
  await logIn(federation.publisher, oidc.PrivateKeyJwt(signers.rsa));
  published.set.keys.push(signers.next.jwk);
  await logIn(federation.publisher, oidc.PrivateKeyJwt(signers.next));
  await logIn(federation.publisher, oidc.PrivateKeyJwt(signers.rsa));
});

test('two secrets are valid at once, an older one is not', async () => {
  await logIn(federation.rotating, oidc.ClientSecretPost(SECRET));
  await logIn(federation.rotating, oidc.ClientSecretPost(NEXT_SECRET));
  await refused(logIn(federation.rotating, oidc.ClientSecretPost('an older secret, of 32 characters or more')));
  assert.match(federation.hub.log(), /client_id="rotating".*its not_after has passed/);
});

test('another method than the registered one is refused though its proof is right', async () => {
  await refused(logIn(federation.header, oidc.ClientSecretPost(SECRET)));
  await refused(logIn(federation.sp, oidc.ClientSecretBasic(federation.sp.secret)));
  await refused(logIn(federation.signer, oidc.PrivateKeyJwt(signers.rsa)));
});

test('an assertion counts once, and only at this issuer', async () => {
  const sign = (audience, jti) => new SignJWT({ jti }).setProtectedHeader({ alg: 'ES256', kid: 'ec-1' })
    .setIssuer('signer').setSubject('signer').setAudience(audience).setIssuedAt().setExpirationTime('1m').sign(signers.ec.key);
  const answer = async (client_assertion) => (await post({ client_assertion_type: JWT_BEARER, client_assertion })).json();
  const { issuer } = federation.hub;
  const once = await sign(issuer, random());
  assert.equal((await answer(once)).error, 'invalid_grant');
  const { error, error_description } = await answer(once);
  assert.deepEqual({ error, error_description }, { error: 'invalid_client', error_description: 'The client assertion was used before; each needs a jti of its own.' });
  for (const audience of [`${issuer}/token`, [issuer], federation.hub.base]) {
    assert.equal((await answer(await sign(audience, random()))).error, 'invalid_client', String(audience));
  }
});

test('RFC 6749, 5.2: the challenge comes if the header was used, and only then', async () => {
  const header = { authorization: `Basic ${Buffer.from('header:wrong').toString('base64')}` };
  const challenged = await post({}, header);
  assert.deepEqual([challenged.status, challenged.headers.get('www-authenticate')], [401, 'Basic realm="token"']);
  const unchallenged = await post({ client_id: 'alpha', client_secret: 'wrong' });
  assert.deepEqual([unchallenged.status, unchallenged.headers.get('www-authenticate')], [401, null]);
  assert.equal((await post({ client_id: 'header', client_secret: SECRET }, header)).status, 400);
});

test('nothing secret reaches the log, and each refusal is counted by its reason', async () => {
  const log = federation.hub.log();
  for (const secret of [SECRET, NEXT_SECRET, encodeURIComponent(SECRET)]) assert.ok(!log.includes(secret));
  const metrics = await (await fetch(`${federation.hub.privateBase}/metrics`)).text();
  for (const code of ['Y041002', 'Y041051', 'Y041053', 'Y040850', 'Y040855']) {
    assert.match(metrics, new RegExp(`passerelle_token_request_errors_total\\{client="[^"]+",error="${code}"\\} [1-9]`), code);
  }
});
