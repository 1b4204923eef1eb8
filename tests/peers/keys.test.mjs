// The hub's signing keys are changed under a client that keeps running: openid-client takes the new ones by itself.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync, readdirSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import * as oidc from 'openid-client';
import { discoverHub, buildAuthorizationRequest, startFederation, fetchUserinfo } from './federation.mjs';
import { Browser, program, random, signIn, waitUntil } from './harness.mjs';

let federation, client;
before(async () => {
  federation = await startFederation('hub-keys');
  client = await discoverHub(federation.hub, federation.sp);
});
after(() => federation?.stop());

/** A whole login in a new browser, verified by the client: ID token and userinfo, with the keys that it fetches itself. */
async function signedIn({ secondsAgo = 0 } = {}) {
  const { sp } = federation;
  const browser = new Browser();
  const authorization = await buildAuthorizationRequest(client, sp);
  const redirect = new URL(await signIn(browser, authorization.url, { stopAt: sp.redirectUri }));
  // Only the client's clock is put back: it remembers when it fetched the keys, and asks for others once a minute at most.
  const now = Date.now;
  Date.now = () => now() - secondsAgo * 1000;
  try {
    const tokens = await oidc.authorizationCodeGrant(client, redirect, {
      pkceCodeVerifier: authorization.verifier, expectedState: authorization.state, expectedNonce: authorization.nonce, idTokenExpected: true,
    });
    const person = await oidc.fetchUserInfo(client, tokens.access_token, tokens.claims().sub);
    assert.equal(person.family_name, 'DUBOIS');
    return { browser, tokens, kid: JSON.parse(Buffer.from(tokens.id_token.split('.')[0], 'base64url')).kid };
  } finally {
    Date.now = now;
  }
}
const published = async () => (await (await fetch(`${federation.hub.issuer}/jwks`)).json()).keys.map((key) => key.kid);
const keyFiles = () => readdirSync(path.join(federation.hub.folder, 'keys')).filter((name) => name.endsWith('.json'));

test('R030 R031 R071: a client that keeps running verifies with the new key after a rotation, and the old token still signs out', async () => {
  const { hub, sp } = federation;
  const first = await signedIn({ secondsAgo: 100 });
  const [before, files] = [await published(), keyFiles()];
  assert.ok(before.includes(first.kid));

  // Without blocking: connections that the hub closes meanwhile are noticed.
  await promisify(execFile)(program, ['keys', 'rotate', '--dir', path.join(hub.folder, 'keys')]);
  const added = keyFiles().filter((name) => !files.includes(name));
  assert.equal(added.length, 2, 'one key of each sort');
  await waitUntil(async () => (await published()).length === before.length + 2, 'the new keys', 60);
  const second = await signedIn();
  assert.equal(second.kid, first.kid, 'published, and not used yet');

  // The twenty minutes before a new key's first use are over.
  for (const name of added) {
    const file = path.join(hub.folder, 'keys', name);
    const key = JSON.parse(readFileSync(file, 'utf8'));
    const turn = { ...key, created: key.created - 1200, signs_from: key.signs_from - 1200 };
    writeFileSync(`${file}.new`, JSON.stringify(turn), { mode: 0o600 });
    renameSync(`${file}.new`, file);
  }
  await waitUntil(async () => (await published())[0] !== before[0], 'the new signing key', 60);
  const third = await signedIn();
  assert.notEqual(third.kid, first.kid);
  assert.ok(!before.includes(third.kid), 'a key that the client had never seen');
  assert.ok(oidc.getJwksCache(client).jwks.keys.some((key) => key.kid === third.kid), 'the client has fetched the keys again');

  // The key of the first login is retired: its token is a hint all the same.
  const state = random();
  const out = oidc.buildEndSessionUrl(client, { post_logout_redirect_uri: sp.postLogoutUri, id_token_hint: first.tokens.id_token, state });
  const left = await first.browser.step(out.href);
  assert.equal(left.status, 303);
  assert.equal(new URL(left.location).origin, federation.idp.issuer);
  assert.equal((await fetchUserinfo(hub, third.tokens.access_token)).status, 200, 'another browser goes on');
});
