// Blocks by `passerelle idp`, during logins at a real identity provider.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { after, before, test } from 'node:test';
import * as oidc from 'openid-client';
import { discoverHub, buildAuthorizationRequest, startFederation } from './federation.mjs';
import { Browser, chooseProvider, program, signIn } from './harness.mjs';

let fed, client;
before(async () => { fed = await startFederation('hub-blocking'); client = await discoverHub(fed.hub, fed.sp); });
after(async () => fed?.stop());

function idp(...args) {
  const done = spawnSync(program, ['idp', ...args, '--config', fed.hub.folder], { encoding: 'utf8' });
  assert.equal(done.status, 0, done.stdout + done.stderr);
  return done.stdout;
}
const block = (...more) => idp('block', 'real', '--reason', 'a test', '--message', 'en=Back on Monday.', ...more);
const openChoicePage = async (browser) => browser.open((await buildAuthorizationRequest(client, fed.sp)).url);

test('a login that is at the identity provider stops when it comes back, and a new one is offered nothing', async () => {
  const browser = new Browser();
  const upstream = await chooseProvider(browser, await openChoicePage(browser), 'real');
  block();
  const stopped = await browser.submit(upstream, { values: { login: 'angela', password: 'any' } });
  assert.equal(stopped.status, 403);
  assert.match(stopped.html, /Y020150/);
  assert.match(stopped.html, /<p>Back on Monday\.<\/p>/);
  assert.match((await openChoicePage(new Browser())).html, /Real provider<\/bdi><\/span><span[^>]*>Back on Monday\./);
  assert.match(idp('list'), /^real +blocked .*\n  blocked for all users by command [0-9A-Z]{12}: a test\n$/);
  idp('unblock', 'real');
  assert.match(idp('list'), /^real +available /);
  assert.match(await signIn(new Browser(), (await buildAuthorizationRequest(client, fed.sp)).url, { stopAt: fed.sp.redirectUri }), /[?&]code=/);
});

test('a block for one service provider leaves the other alone', async () => {
  block('--sp', fed.sp.id, '--for', '1h');
  assert.ok(!/value="real"/.test((await openChoicePage(new Browser())).html));
  const other = await discoverHub(fed.hub, fed.other);
  assert.match(await signIn(new Browser(), (await buildAuthorizationRequest(other, fed.other)).url, { stopAt: fed.other.redirectUri }), /[?&]code=/);
  idp('unblock', 'real', '--sp', fed.sp.id);
  assert.match((await openChoicePage(new Browser())).html, /value="real"/);
});

test('a logout sends no one to an identity provider that is blocked', async () => {
  const browser = new Browser();
  const authorization = await buildAuthorizationRequest(client, fed.sp);
  const redirect = new URL(await signIn(browser, authorization.url, { stopAt: fed.sp.redirectUri }));
  const checks = { pkceCodeVerifier: authorization.verifier, expectedState: authorization.state, expectedNonce: authorization.nonce, idTokenExpected: true };
  const tokens = await oidc.authorizationCodeGrant(client, redirect, checks);
  block();
  const state = 'a-state-of-at-least-thirty-two-characters';
  const end = oidc.buildEndSessionUrl(client, { post_logout_redirect_uri: fed.sp.postLogoutUri, id_token_hint: tokens.id_token, state });
  const left = await browser.step(end.href);
  assert.ok(left.location.startsWith(`${fed.sp.postLogoutUri}?state=${state}`), left.location);
  idp('unblock', 'real');
});
