// Back-channel logout in both directions: logout tokens to receivers that verify them with jose, and from oidc-provider.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from 'jose';
import * as oidc from 'openid-client';
import { discoverHub, buildAuthorizationRequest, startFederation, fetchUserinfo } from './federation.mjs';
import { Browser, answerConsent, random, startServer, signIn, tomlString } from './harness.mjs';

const EVENT = 'http://schemas.openid.net/event/backchannel-logout';

/** A service provider's endpoint: what it was sent, and the status that it answers with. */
async function receive() {
  const receiver = { received: [], status: 200 };
  const server = await startServer(async (asked, response) => {
    const chunks = [];
    for await (const chunk of asked) chunks.push(chunk);
    const form = new URLSearchParams(Buffer.concat(chunks).toString());
    receiver.received.push({ path: asked.url, type: asked.headers['content-type'], names: [...form.keys()], token: form.get('logout_token') });
    response.writeHead(receiver.status, { 'cache-control': 'no-store' }).end();
  });
  receiver.extra = (id) => `backchannel_logout_uri = ${tomlString(`http://127.0.0.1:${server.port}/${id}`)}\ninternal_hosts = ["127.0.0.1"]`;
  receiver.close = server.close;
  receiver.until = async (count, seconds = 30) => {
    for (const end = performance.now() + seconds * 1000; receiver.received.length < count;) {
      assert.ok(performance.now() < end, `${receiver.received.length} of ${count} logout tokens`);
      await new Promise((resolve) => { setTimeout(resolve, 50); });
    }
  };
  return receiver;
}

let receiver, federation, client;
before(async () => {
  receiver = await receive();
  const files = { alpha: { extra: receiver.extra('alpha') }, beta: { extra: receiver.extra('beta') } };
  const settings = `[store.memory]\nsnapshot = "store.snapshot"\nencryption_keys = [{ file = "snapshot.key" }]`;
  federation = await startFederation('hub-backchannel-logout', files, { backChannel: true, settings, files: { 'snapshot.key': random(48) } });
  client = await discoverHub(federation.hub, federation.sp);
});
after(async () => { await federation?.stop(); await receiver?.close(); });

async function tokensFor(metadata, url, asked) {
  return oidc.authorizationCodeGrant(metadata, new URL(url), {
    pkceCodeVerifier: asked.verifier, expectedState: asked.state, expectedNonce: asked.nonce, idTokenExpected: true,
  });
}
async function signedIn() {
  const { sp } = federation;
  const browser = new Browser();
  const authorization = await buildAuthorizationRequest(client, sp);
  const redirect = await signIn(browser, authorization.url, { stopAt: sp.redirectUri });
  return { browser, tokens: await tokensFor(client, redirect, authorization) };
}
const endSession = (tokens) => oidc.buildEndSessionUrl(client, {
  post_logout_redirect_uri: federation.sp.postLogoutUri, id_token_hint: tokens.id_token, state: random(),
}).href;

async function verify({ token }, sp) {
  const { hub } = federation;
  const keys = createRemoteJWKSet(new URL(`${hub.issuer}/jwks`));
  return jwtVerify(token, keys, { issuer: hub.issuer, audience: sp.id, typ: 'logout+jwt', algorithms: ['ES256'], requiredClaims: ['iat', 'exp', 'jti', 'sub', 'sid'] });
}

test('a logout reaches every service provider, with the sub and sid of its ID tokens', async () => {
  const { hub, sp, other } = federation;
  assert.equal(client.serverMetadata().backchannel_logout_supported, true);
  assert.equal(client.serverMetadata().backchannel_logout_session_supported, true);
  const { browser, tokens } = await signedIn();
  const elsewhere = await discoverHub(hub, other);
  const authorization = await buildAuthorizationRequest(elsewhere, other, { prompt: 'consent' });
  const shown = await browser.open(authorization.url);
  const theirs = await tokensFor(elsewhere, (await answerConsent(browser, shown, 'yes', other.redirectUri)).url, authorization);
  assert.notEqual(tokens.claims().sid, theirs.claims().sid);

  const before = receiver.received.length;
  assert.equal((await browser.step(endSession(tokens))).status, 303);
  await receiver.until(before + 2);
  for (const [service, own] of [[sp, tokens.claims()], [other, theirs.claims()]]) {
    const sent = receiver.received.slice(before).filter(({ path: at }) => at === `/${service.id}`);
    assert.equal(sent.length, 1);
    assert.deepEqual([sent[0].type, sent[0].names], ['application/x-www-form-urlencoded', ['logout_token']]);
    const { payload } = await verify(sent[0], service);
    assert.deepEqual([payload.sub, payload.sid, payload.events], [own.sub, own.sid, { [EVENT]: {} }]);
    assert.ok(!('nonce' in payload) && payload.exp - payload.iat <= 120);
    // A library that expects an ID token refuses it, and the other way round.
    await assert.rejects(jwtVerify(sent[0].token, createRemoteJWKSet(new URL(`${hub.issuer}/jwks`)), { typ: 'JWT' }));
    await assert.rejects(verify({ token: tokens.id_token }, service));
    assert.equal(decodeProtectedHeader(tokens.id_token).typ, 'JWT');
  }
});

test('oidc-provider ends the session at the hub by its own logout, and the service provider is informed', async () => {
  const { hub, idp, sp } = federation;
  const { browser, tokens } = await signedIn();
  const before = receiver.received.length;
  const question = await browser.open(`${idp.issuer}/session/end`);
  const done = await browser.submit(question, { pick: (form) => /\/session\/end\/confirm$/.test(form.action), values: { logout: 'yes' } });
  assert.equal(done.status, 200, done.html);
  await receiver.until(before + 1);
  const { payload } = await verify(receiver.received.at(-1), sp);
  assert.deepEqual([payload.sub, payload.sid], [tokens.claims().sub, tokens.claims().sid]);
  assert.equal((await fetchUserinfo(hub, tokens.access_token)).status, 401, 'the access token died with the session');
  const silent = await browser.open((await buildAuthorizationRequest(client, sp, { prompt: 'none' })).url, { stopAt: sp.redirectUri });
  assert.equal(new URL(silent.url).searchParams.get('error'), 'login_required');
  assert.deepEqual(idp.faults, []);
});

test('a restart loses no logout token', async () => {
  const { hub, sp } = federation;
  const { browser, tokens } = await signedIn();
  const before = receiver.received.length;
  receiver.status = 503;
  await browser.step(endSession(tokens));
  await receiver.until(before + 1);
  await hub.restart('SIGTERM', () => { receiver.status = 200; });
  // After its retry delay, or after the lease of the hub that stopped.
  await receiver.until(before + 2, 60);
  const { payload } = await verify(receiver.received.at(-1), sp);
  assert.equal(payload.sid, tokens.claims().sid);
  const metrics = await (await fetch(`${hub.privateBase}/metrics`)).text();
  assert.match(metrics, /passerelle_logout_tokens_total\{client="alpha",outcome="delivered"\} 1/);
});
