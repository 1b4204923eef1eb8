// Logout by openid-client, through the hub, to oidc-provider's own logout page, and back.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import * as oidc from 'openid-client';
import { discoverHub, buildAuthorizationRequest, startFederation, fetchUserinfo } from './federation.mjs';
import { Browser, answerConsent, chooseProvider, parseForms, random, signIn } from './harness.mjs';

let federation, client;
before(async () => {
  federation = await startFederation('hub-logout');
  client = await discoverHub(federation.hub, federation.sp);
});
after(() => federation?.stop());

async function signedIn() {
  const { sp } = federation;
  const browser = new Browser();
  const authorization = await buildAuthorizationRequest(client, sp);
  const redirect = new URL(await signIn(browser, authorization.url, { stopAt: sp.redirectUri }));
  const tokens = await oidc.authorizationCodeGrant(client, redirect, {
    pkceCodeVerifier: authorization.verifier, expectedState: authorization.state, expectedNonce: authorization.nonce, idTokenExpected: true,
  });
  return { browser, tokens };
}
const endSession = (tokens, state) => oidc.buildEndSessionUrl(client, {
  post_logout_redirect_uri: federation.sp.postLogoutUri, id_token_hint: tokens.id_token, state,
}).href;
const confirming = (form) => /\/session\/end\/confirm$/.test(form.action);

test('R170 R171 R172 R173 R176: a logout ends both sessions, and comes back with its state', async () => {
  const { hub, idp, sp } = federation;
  const { browser, tokens } = await signedIn();
  const state = `~!@#$%^&*()_+ "'<>\\ ${random(16)}`;
  const left = await browser.step(endSession(tokens, state));
  assert.equal(left.status, 303);
  assert.equal(left.headers.get('content-type'), 'text/html;charset=UTF-8');
  assert.ok(![...browser.cookies(hub.base).keys()].some((name) => name.endsWith('-session') && name.startsWith('passerelle')), 'the session cookie is gone');
  assert.equal((await fetchUserinfo(hub, tokens.access_token)).status, 401, 'the access token died with the session');

  const upstream = new URL(left.location);
  assert.equal(upstream.origin, idp.issuer);
  assert.equal(upstream.searchParams.get('post_logout_redirect_uri'), `${hub.issuer}/session/end/real`);
  const bits = upstream.searchParams.get('state');
  assert.ok(bits.length >= 43 && bits !== state);
  assert.ok(!left.location.includes(tokens.id_token), 'the identity provider gets its own token, not ours');

  const question = await browser.open(left.location);
  assert.equal(question.status, 200, 'the identity provider knows its token, and asks');
  const back = await browser.submit(question, { pick: confirming, values: { logout: 'yes' }, stopAt: sp.postLogoutUri });
  assert.ok(back.stopped, back.html);
  assert.ok(back.url.endsWith('#'), 'no fragment is inherited');
  const url = new URL(back.url);
  assert.equal(url.origin + url.pathname, sp.postLogoutUri);
  assert.deepEqual([...url.searchParams], [['state', state]]);

  const replayed = await browser.open(`${hub.issuer}/session/end/real?state=${bits}`);
  assert.equal(replayed.status, 200);
  assert.match(replayed.html, /You are signed out/);

  // The next authorize asks again, here and at the identity provider.
  const silent = await browser.open((await buildAuthorizationRequest(client, sp, { prompt: 'none' })).url, { stopAt: sp.redirectUri });
  assert.equal(new URL(silent.url).searchParams.get('error'), 'login_required');
  const choice = await browser.open((await buildAuthorizationRequest(client, sp, { prompt: 'consent' })).url);
  const login = await chooseProvider(browser, choice, 'real');
  assert.ok(parseForms(login.html, login.url).some((form) => form.fields.some(([name]) => name === 'login')), login.html);
  assert.deepEqual(idp.faults, []);
});

test('a user who keeps the session at the identity provider comes back nevertheless', async () => {
  const { sp } = federation;
  const { browser, tokens } = await signedIn();
  const state = random();
  const question = await browser.open(endSession(tokens, state));
  const back = await browser.submit(question, { pick: confirming, stopAt: sp.postLogoutUri });
  assert.equal(new URL(back.url).searchParams.get('state'), state);
});

test('a logout whose answer got lost, or that was clicked twice, still reaches the identity provider, and comes back where it should', async () => {
  const { hub, sp, other } = federation;
  const { browser, tokens } = await signedIn();
  const elsewhere = await discoverHub(hub, other);
  const authorization = await buildAuthorizationRequest(elsewhere, other, { prompt: 'consent' });
  const shown = await browser.open(authorization.url);
  const theirs = await oidc.authorizationCodeGrant(elsewhere, new URL((await answerConsent(browser, shown, 'yes', other.redirectUri)).url), {
    pkceCodeVerifier: authorization.verifier, expectedState: authorization.state, expectedNonce: authorization.nonce, idTokenExpected: true,
  });
  const held = new Map(browser.cookies(hub.base));
  const state = random();
  const first = await browser.step(endSession(tokens, state));
  const again = () => { for (const [name, value] of held) browser.cookies(hub.base).set(name, value); };
  again();
  assert.equal((await browser.step(endSession(tokens, state))).location, first.location);
  // Another request of the same browser has another way back: it is not sent on the first one's.
  again();
  const out = new URL(endSession(tokens, state));
  for (const [name, value] of [['id_token_hint', theirs.id_token], ['post_logout_redirect_uri', other.postLogoutUri], ['client_id', other.id]]) out.searchParams.set(name, value);
  assert.equal((await browser.step(out.href)).location, `${other.postLogoutUri}?state=${state}`);
  const back = await browser.submit(await browser.open(first.location), { pick: confirming, values: { logout: 'yes' }, stopAt: sp.postLogoutUri });
  assert.equal(new URL(back.url).searchParams.get('state'), state);
  // Without the cookie the page reveals nothing of it.
  assert.equal((await new Browser().step(endSession(tokens, state))).location, `${sp.postLogoutUri}?state=${state}`);
});

test('R174 R178: an address one byte off, a short state or another hub\'s token leaves the session alone', async () => {
  const { hub, idp, sp } = federation;
  const { browser, tokens } = await signedIn();
  const good = new URL(endSession(tokens, random()));
  for (const [name, value] of [['post_logout_redirect_uri', `${sp.postLogoutUri}/`], ['state', 'short'], ['id_token_hint', `${tokens.id_token}x`], ['client_id', federation.other.id]]) {
    const bad = new URL(good);
    bad.searchParams.set(name, value);
    const page = await browser.step(bad.href);
    assert.equal(page.status, 400, name);
    assert.equal(page.location, null, name);
    assert.match(page.html, /Y000400/);
    assert.match(page.html, /Y190\d{3}/);
  }
  assert.equal((await fetchUserinfo(hub, tokens.access_token)).status, 200);
  assert.deepEqual(idp.faults, []);
});

test('R177: an identity provider that is switched off is not asked, and the person comes back at once', async () => {
  const { hub, sp } = federation;
  const { browser, tokens } = await signedIn();
  const file = `${hub.folder}/connectors/real.toml`;
  const on = readFileSync(file, 'utf8');
  const applied = async (text) => {
    const times = () => hub.log().split('configuration reloaded').length;
    const before = times();
    writeFileSync(file, text);
    for (let tries = 0; times() === before; tries += 1) {
      assert.ok(tries < 200, 'the hub has read the file again');
      await new Promise((resolve) => { setTimeout(resolve, 50); });
    }
  };
  await applied(`enabled = false\n${on}`);
  try {
    const state = random();
    const left = await browser.step(endSession(tokens, state));
    assert.equal(left.location, `${sp.postLogoutUri}?state=${state}`);
    assert.equal((await fetchUserinfo(hub, tokens.access_token)).status, 401);
  } finally {
    await applied(on);
  }
});

test('“this is not me” ends the session at the identity provider, and comes back to the choice', async () => {
  const { hub, idp, sp } = federation;
  const browser = new Browser();
  const authorization = await buildAuthorizationRequest(client, sp);
  const login = await chooseProvider(browser, await browser.open(authorization.url), 'real');
  const consent = await browser.submit(login, { values: { login: 'angela' } });
  assert.match(consent.url, /\/consent#?$/);
  const question = await browser.submit(consent, { pick: (form) => /\/not-me$/.test(form.action) });
  assert.equal(new URL(question.url).origin, idp.issuer, 'its logout page asks');
  const choice = await browser.submit(question, { pick: confirming, values: { logout: 'yes' } });
  assert.equal(new URL(choice.url).origin, new URL(hub.base).origin);
  assert.match(choice.html, /You said that this was not you/);
  const again = await chooseProvider(browser, choice, 'real');
  assert.ok(parseForms(again.html, again.url).some((form) => form.fields.some(([name]) => name === 'login')), 'the other person is not signed in there any more');
  assert.deepEqual(idp.faults, []);
});
