// A single hub restarts during logins. All logins, sessions and codes continue, and revocations remain.
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { after, before, test } from 'node:test';
import * as oidc from 'openid-client';
import { discoverHub, redeemCode, buildAuthorizationRequest, startFederation, fetchUserinfo } from './federation.mjs';
import { Browser, answerConsent, chooseProvider, random, signIn } from './harness.mjs';

let federation, client;
const statePath = (...more) => path.join(federation.hub.folder, 'state', ...more);
before(async () => {
  federation = await startFederation('hub-snapshot', {}, {
    settings: '[store.memory]\nsnapshot = "state/store.snapshot"\nencryption_keys = [{ file = "store.key" }]\n',
    files: { 'store.key': random(32) },
  });
  client = await discoverHub(federation.hub, federation.sp);
});
after(() => federation?.stop());

/** Performs a login up to the redirect with the code. */
async function codeFor(browser) {
  const authorization = await buildAuthorizationRequest(client, federation.sp);
  const redirect = new URL(await signIn(browser, authorization.url, { stopAt: federation.sp.redirectUri }));
  return { ...authorization, back: redirect };
}
const tokensFor = ({ back, verifier, state, nonce }) => oidc.authorizationCodeGrant(client, back, {
  pkceCodeVerifier: verifier, expectedState: state, expectedNonce: nonce, idTokenExpected: true,
});
const silently = async (browser) => {
  const { url } = await buildAuthorizationRequest(client, federation.sp, { prompt: 'none' });
  return new URL((await browser.open(url, { stopAt: federation.sp.redirectUri })).url).searchParams;
};

test('SIGTERM and the next start: logins go on, sessions and codes are there, what was ended stays ended', async () => {
  const { hub, sp } = federation;
  // One login is at the choice page, one at the consent page.
  const [choosing, consenting, signedIn, signedOut] = [new Browser(), new Browser(), new Browser(), new Browser()];
  const chosen = await buildAuthorizationRequest(client, sp);
  const choice = await choosing.open(chosen.url);
  const consented = await buildAuthorizationRequest(client, sp);
  const login = await chooseProvider(consenting, await consenting.open(consented.url), 'real');
  const consent = await consenting.submit(login, { values: { login: 'angela', password: 'any', acr: '' } });
  // One has a session, a token and a redeemed code.
  const spent = await codeFor(signedIn);
  const tokens = await tokensFor(spent);
  // One has ended a session; its token died with it. A token of another session was revoked alone.
  const ended = await tokensFor(await codeFor(signedOut));
  await signedOut.step(oidc.buildEndSessionUrl(client, {
    id_token_hint: ended.id_token, post_logout_redirect_uri: sp.postLogoutUri, state: random(32),
  }).href);
  const revoked = await tokensFor(await codeFor(new Browser()));
  await oidc.tokenRevocation(client, revoked.access_token);
  for (const dead of [ended, revoked]) assert.equal((await fetchUserinfo(hub, dead.access_token)).status, 401, 'before the restart');
  // One code is not redeemed yet.
  const unspent = await codeFor(new Browser());

  await hub.restart('SIGTERM', () => {
    assert.deepEqual(readdirSync(statePath()), ['store.snapshot']);
    assert.equal(statSync(statePath('store.snapshot')).mode & 0o777, 0o600);
    const bytes = readFileSync(statePath('store.snapshot'), 'latin1');
    for (const word of ['DUBOIS', 'Angela', sp.redirectUri, unspent.back.searchParams.get('code')]) assert.ok(!bytes.includes(word), word);
  });
  assert.deepEqual(readdirSync(statePath()), [], 'the hub removes the snapshot that it restored');
  assert.match(hub.log(), /store restored from its snapshot.* records=\d+/);

  assert.equal((await fetchUserinfo(hub, tokens.access_token)).status, 200);
  assert.equal((await fetchUserinfo(hub, ended.access_token)).status, 401);
  assert.equal((await fetchUserinfo(hub, revoked.access_token)).status, 401);
  assert.ok((await silently(signedIn)).get('code'));
  assert.equal((await silently(signedOut)).get('error'), 'login_required');

  const upstream = await chooseProvider(choosing, choice, 'real');
  const asked = await choosing.submit(upstream, { values: { login: 'angela', password: 'any', acr: '' } });
  const first = await answerConsent(choosing, asked, 'yes', sp.redirectUri);
  assert.ok((await tokensFor({ ...chosen, back: new URL(first.url) })).access_token);
  const second = await answerConsent(consenting, consent, 'yes', sp.redirectUri);
  assert.ok((await tokensFor({ ...consented, back: new URL(second.url) })).access_token);

  const late = { code: unspent.back.searchParams.get('code'), code_verifier: unspent.verifier };
  assert.equal((await redeemCode(hub, sp, late)).status, 200);
  assert.equal((await redeemCode(hub, sp, late)).body.error, 'invalid_grant', 'once');
  // The tombstone of a code that was spent before still says what it gave.
  const again = await redeemCode(hub, sp, { code: spent.back.searchParams.get('code'), code_verifier: spent.verifier });
  assert.equal(again.body.error, 'invalid_grant');
  assert.equal((await fetchUserinfo(hub, tokens.access_token)).status, 401, 'a replayed code ends what it gave');
});

test('a second signal hurries the end, and the snapshot is written all the same', async () => {
  const { hub } = federation;
  const browser = new Browser();
  await codeFor(browser);
  // A request whose body stays away is waited for.
  const { hostname, port } = new URL(hub.base);
  const slow = net.connect(port, hostname).on('error', () => {});
  const head = `POST /api/v2/token HTTP/1.1\r\nHost: ${hostname}:${port}\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 9\r\n\r\n`;
  await new Promise((sent) => { slow.once('connect', () => slow.write(head, sent)); });
  assert.equal((await fetch(`${hub.base}/api/v2/jwks`)).status, 200);
  hub.signal('SIGTERM');
  const refused = () => fetch(`${hub.base}/api/v2/jwks`).then(() => false, () => true);
  for (let tries = 0; !(await refused()); tries += 1) assert.ok(tries < 200, 'new connections are still accepted');
  await hub.restart('SIGTERM', () => {
    assert.match(hub.log(), /second signal/);
    assert.deepEqual(readdirSync(statePath()), ['store.snapshot']);
  });
  assert.ok((await silently(browser)).get('code'));
});

test('a code that was redeemed after the restart does not come back by a crash: there is no snapshot then', async () => {
  const { hub, sp } = federation;
  const browser = new Browser();
  const unspent = await codeFor(browser);
  await hub.restart('SIGTERM');
  const fields = { code: unspent.back.searchParams.get('code'), code_verifier: unspent.verifier };
  assert.equal((await redeemCode(hub, sp, fields)).status, 200);
  await hub.restart('SIGKILL', () => assert.ok(!existsSync(statePath('store.snapshot'))));
  assert.match(hub.log(), /no snapshot of the store found/);
  assert.equal((await redeemCode(hub, sp, fields)).body.error, 'invalid_grant');
  assert.equal((await silently(browser)).get('error'), 'login_required');
});

test('a snapshot that can not be decrypted is set aside with its reason, and the hub starts', async () => {
  const { hub } = federation;
  const browser = new Browser();
  await codeFor(browser);
  await hub.restart('SIGTERM', () => {
    const bytes = readFileSync(statePath('store.snapshot'));
    bytes[bytes.length - 1] ^= 1;
    writeFileSync(statePath('store.snapshot'), bytes);
  });
  assert.match(hub.log(), /snapshot of the store can't be used.*it was changed/);
  assert.deepEqual(readdirSync(statePath()), ['store.snapshot.unreadable']);
  assert.equal((await silently(browser)).get('error'), 'login_required');
});
