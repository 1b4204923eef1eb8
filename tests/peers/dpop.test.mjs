// DPoP as real clients do it. npm openid-client: bound tokens with each algorithm, nonces, a bound code, and a thief. Go
// (golang.org/x/oauth2, go-oidc, jwx) and Spring Security, which is also a data provider that verifies proofs.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { calculateJwkThumbprint, exportJWK } from 'jose';
import * as oidc from 'openid-client';
import { DATA_PROVIDER_SECRET, dataProviderFiles, discoverHub, buildAuthorizationRequest, startFederation } from './federation.mjs';
import { Browser, answerConsent, chooseProvider, freePorts, root, signIn, skipUnlessAll } from './harness.mjs';
import { productCache, startDialogue, findProgram, createFolder, goEnv, springApplication, startProduct, runSuccessfully, skipWithoutGo } from './recipes.mjs';

const BOUND = 'dpop_bound_access_tokens = true\ndpop_nonce_required = true';
const PLAIN = `rules = "openid"\nconsent = "required"\nrequire_pkce = true\n${BOUND}\nrefresh_tokens = {}`;

let federation, springPort;
before(async () => {
  [springPort] = await freePorts(1);
  const scopes = ['openid', 'profile'];
  const { 'data-providers/archive.toml': archive } = dataProviderFiles({ archive: '' });
  federation = await startFederation('hub-dpop', {
    bound: { extra: BOUND },
    go: { scopes, extra: PLAIN },
    spring: { scopes, extra: PLAIN, redirectUri: `http://localhost:${springPort}/login/oauth2/code/hub` },
  }, { files: { 'data-providers/archive.toml': archive.replace('"family_name", "birthdate"', '"profile"') } });
});
after(() => federation?.stop());

const logIn = async (asked, sp) => new URL(await signIn(new Browser(), asked.url, { stopAt: sp.redirectUri }));
const checksOf = (asked) => ({ pkceCodeVerifier: asked.verifier, expectedState: asked.state, expectedNonce: asked.nonce });

for (const alg of ['ES256', 'PS256', 'RS256', 'EdDSA', 'Ed25519']) {
  test(`a token that is bound to a key of ${alg}, with the nonce that the hub asks for`, async () => {
    const { hub, bound } = federation;
    const client = await discoverHub(hub, bound);
    assert.ok(client.serverMetadata().dpop_signing_alg_values_supported.includes(alg));
    const DPoP = oidc.getDPoPHandle(client, await oidc.randomDPoPKeyPair(alg));
    const authorization = await buildAuthorizationRequest(client, bound, { dpop_jkt: await DPoP.calculateThumbprint() });
    const tokens = await oidc.authorizationCodeGrant(client, await logIn(authorization, bound), checksOf(authorization), undefined, { DPoP });
    assert.equal(tokens.token_type, 'dpop');
    const claims = await oidc.fetchUserInfo(client, tokens.access_token, tokens.claims().sub, { DPoP });
    assert.equal(claims.family_name, 'DUBOIS');
    // The token alone, and with the key of a thief.
    const bearer = await fetch(`${hub.issuer}/userinfo`, { headers: { authorization: `Bearer ${tokens.access_token}` } });
    assert.equal(bearer.status, 401);
    assert.match(bearer.headers.get('www-authenticate'), /^DPoP error="invalid_token", algs="ES256 /);
    const thief = oidc.getDPoPHandle(client, await oidc.randomDPoPKeyPair('ES256'));
    await assert.rejects(oidc.fetchUserInfo(client, tokens.access_token, tokens.claims().sub, { DPoP: thief }), (error) => error.cause?.some?.(({ parameters }) => parameters.error === 'invalid_token'));
  });
}

test('a code that is bound by dpop_jkt to one key is refused with another', async () => {
  const { hub, sp } = federation;
  const client = await discoverHub(hub, sp);
  const keys = await oidc.randomDPoPKeyPair('ES256', { extractable: true });
  const authorization = await buildAuthorizationRequest(client, sp, { dpop_jkt: await calculateJwkThumbprint(await exportJWK(keys.publicKey)) });
  const DPoP = oidc.getDPoPHandle(client, await oidc.randomDPoPKeyPair('ES256'));
  await assert.rejects(
    oidc.authorizationCodeGrant(client, await logIn(authorization, sp), checksOf(authorization), undefined, { DPoP }),
    (error) => error.error === 'invalid_grant' && error.status === 400,
  );
});

test('a client that sends no proof gets a bearer token as before, and none where its file demands proofs', async () => {
  const { hub, sp, bound } = federation;
  for (const [who, ending] of [[sp, 'bearer'], [bound, 'invalid_dpop_proof']]) {
    const client = await discoverHub(hub, who);
    const authorization = await buildAuthorizationRequest(client, who);
    const answer = oidc.authorizationCodeGrant(client, await logIn(authorization, who), checksOf(authorization));
    assert.equal(await answer.then((tokens) => tokens.token_type, (error) => error.error), ending);
  }
});

/** A thief of the token is refused without a proof, and with a proof of another key, which openid-client makes with every nonce it is asked for. */
async function assertUselessToThief(address, token, error) {
  for (const scheme of ['Bearer', 'DPoP']) {
    const answer = await fetch(address, { headers: { authorization: `${scheme} ${token}` } });
    assert.equal(answer.status, 401, `${scheme} at ${address}`);
  }
  const thief = await discoverHub(federation.hub, federation.bound);
  const DPoP = oidc.getDPoPHandle(thief, await oidc.randomDPoPKeyPair('ES256'));
  await assert.rejects(
    oidc.fetchProtectedResource(thief, token, new URL(address), 'GET', undefined, undefined, { DPoP }),
    ({ status, cause }) => status === 401 && cause.some(({ parameters }) => parameters.error === error),
  );
}

test('Go signs in with DPoP, refreshes, and its tokens are of no use to a thief', { skip: skipUnlessAll || skipWithoutGo(), timeout: 300_000 }, async (t) => {
  const { hub, go } = federation;
  const binary = path.join(productCache, 'go-dpop');
  await runSuccessfully(findProgram('go'), ['build', '-buildvcs=false', '-o', binary, '.'], { cwd: path.join(root, 'tests/peers/recipes/go-dpop'), env: goEnv });
  const start = (mode) => {
    const client = startDialogue(binary, [hub.issuer, go.id, go.redirectUri, mode], { env: { ...process.env, CLIENT_SECRET: go.secret } });
    t.after(client.stop);
    return client;
  };
  const bound = start('proofs');
  bound.say(await signIn(new Browser(), await bound.line(), { stopAt: go.redirectUri }));
  const { access_token: token, calls, ...learned } = JSON.parse(await bound.line());
  assert.deepEqual(learned, { token_type: 'DPoP', family_name: 'DUBOIS', renewed: true, renewed_type: 'DPoP', same: true });
  // The hub asked for a nonce once, without a loss of the code, and each proof after it had it.
  const called = calls.filter((call) => /token|userinfo/.test(call)).map((call) => call.replace('/api/v2', ''));
  assert.deepEqual(called, ['/token 400', '/token 200', '/userinfo 200', '/token 200', '/userinfo 200']);
  await assertUselessToThief(`${hub.issuer}/userinfo`, token, 'invalid_token');
  const without = start('none');
  without.say(await signIn(new Browser(), await without.line(), { stopAt: go.redirectUri }));
  assert.match(await without.failure(), /invalid_dpop_proof/);
});

const interceptor = 'src/main/java/app/DPoPInterceptor.java';
const springRecipe = path.join(root, 'tests/peers/recipes/spring-dpop');
const { skip, build } = springApplication('spring-dpop', { [interceptor]: readFileSync(path.join(springRecipe, interceptor), 'utf8') });
test('Spring Security signs in with DPoP, and as a data provider refuses a token without the key', { skip, timeout: 900_000 }, async (t) => {
  const { hub, spring } = federation;
  const app = `http://localhost:${springPort}`;
  const { folder, remove } = createFolder({ 'application.yml': `server: { port: ${springPort}, address: 127.0.0.1 }
data: { introspection-uri: "${hub.issuer}/checktoken", client-id: archive, client-secret: "${DATA_PROVIDER_SECRET}" }
spring.security.oauth2.client:
  registration.hub: { client-id: ${spring.id}, client-secret: "${spring.secret}", scope: "openid,profile,offline_access", redirect-uri: "${spring.redirectUri}" }
  provider.hub: { issuer-uri: "${hub.issuer}", user-name-attribute: sub }
` });
  t.after(remove);
  const product = await startProduct('spring-dpop', 'java', ['-jar', await build(), `--spring.config.location=file:${path.join(folder, 'application.yml')}`], { ready: app, seconds: 180 });
  t.after(product.stop);
  const browser = new Browser();
  const json = { headers: { accept: 'application/json' } };
  const upstream = await chooseProvider(browser, await browser.open(app), 'real');
  await answerConsent(browser, await browser.submit(upstream, { values: { login: 'angela', password: 'any', acr: '' } }), 'yes');
  const home = await browser.open(`${app}/`, json);
  assert.equal(home.status, 200, `${browser.trail.join('\n')}\n${product.output()}`);
  assert.equal(JSON.parse(home.html).family_name, 'DUBOIS');
  const tokens = [];
  for (const round of ['first', 'second']) {
    const call = await browser.open(`${app}/call`, json);
    assert.equal(call.status, 200, `${round}: ${call.html}\n${product.output()}`);
    const { answer, token_type: type, access_token: token } = JSON.parse(call.html);
    assert.deepEqual(answer, { family_name: 'DUBOIS', client_id: spring.id });
    assert.equal(type, 'DPoP');
    tokens.push(token);
  }
  assert.notEqual(tokens[0], tokens[1], 'each call has a new token, by the refresh token');
  await assertUselessToThief(`${hub.issuer}/userinfo`, tokens[1], 'invalid_token');
  await assertUselessToThief(`${app}/data/person`, tokens[1], 'invalid_dpop_proof');
});
