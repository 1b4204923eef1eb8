// Public clients as they exist: a native application (npm openid-client, with a server of its own on loopback), and a
// single-page application (npm oidc-client-ts in Chromium) of another origin. Neither has a secret.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { after, before, test } from 'node:test';
import * as oidc from 'openid-client';
import { chromium } from 'playwright-core';
import { SCOPE, discoverHub, buildAuthorizationRequest, startFederation } from './federation.mjs';
import { Browser, artifacts, random, startServer, signIn, tomlString } from './harness.mjs';

const main = createRequire(import.meta.url).resolve('oidc-client-ts');
const library = readFileSync(path.join(path.dirname(main), '../browser/oidc-client-ts.min.js'), 'utf8');
const PUBLIC = 'token_endpoint_auth_method = "none"';
// In a frame, the page reports the answer to the page around it, as the library's documentation says.
const REPORT = 'if (window !== window.parent) new oidc.UserManager({ authority: "", client_id: "", redirect_uri: "" }).signinSilentCallback();';
const PAGE = `<!doctype html><html lang="en"><title>application</title><h1>application</h1><script src="/library.js"></script><script>${REPORT}</script>`;

/** Pages of one origin: each is empty but for the library. */
const pages = () => startServer((incoming, response) => {
  const isScript = incoming.url === '/library.js';
  response.writeHead(200, { 'content-type': isScript ? 'text/javascript' : 'text/html' }).end(isScript ? library : PAGE);
}, 'localhost');

let federation, app, stranger, browser, spa;
before(async () => {
  [app, stranger] = [await pages(), await pages()];
  const origin = `http://localhost:${app.port}`;
  federation = await startFederation('hub-public-clients', {
    native: { secret: undefined, redirectUri: 'http://127.0.0.1/callback', extra: PUBLIC },
    spa: { secret: undefined, redirectUri: `${origin}/callback`, extra: `${PUBLIC}\ncors_origins = [${tomlString(origin)}]` },
  });
  spa = { origin, settings: { authority: federation.hub.issuer, client_id: 'spa', redirect_uri: `${origin}/callback`, scope: SCOPE, loadUserInfo: true, extraQueryParams: { acr_values: 'eidas1' } } };
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking'] });
});
after(async () => {
  await browser?.close();
  await federation?.stop();
  await Promise.all([app?.close(), stranger?.close()]);
});

/** A native application that waits for its answer on a free port of loopback. */
async function nativeApplication() {
  let answered;
  const answer = new Promise((resolve) => { answered = resolve; });
  const server = await startServer((incoming, response) => { answered(incoming.url); response.end('You may close this window.'); });
  const redirectUri = `http://127.0.0.1:${server.port}/callback`;
  return { redirectUri, answer: async () => new URL(await answer, redirectUri), close: server.close };
}

test('RFC 8252: a native application logs in on a free port of loopback, without a secret', async () => {
  const client = await discoverHub(federation.hub, federation.native, oidc.None());
  assert.ok(client.serverMetadata().token_endpoint_auth_methods_supported.includes('none'));
  for (const round of [1, 2]) {
    const native = await nativeApplication();
    const authorization = await buildAuthorizationRequest(client, { ...federation.native, redirectUri: native.redirectUri });
    const redirect = await signIn(new Browser(), authorization.url, { stopAt: native.redirectUri });
    await fetch(redirect);
    const checks = { pkceCodeVerifier: authorization.verifier, expectedState: authorization.state, expectedNonce: authorization.nonce, idTokenExpected: true };
    const tokens = await oidc.authorizationCodeGrant(client, await native.answer(), checks);
    const person = await oidc.fetchUserInfo(client, tokens.access_token, tokens.claims().sub);
    assert.equal(person.family_name, 'DUBOIS', `round ${round}`);
    await oidc.tokenRevocation(client, tokens.access_token);
    await assert.rejects(oidc.fetchUserInfo(client, tokens.access_token, tokens.claims().sub));
    await native.close();
  }
});

test('code injection: another application has the code, and not the verifier or the port', async () => {
  const client = await discoverHub(federation.hub, federation.native, oidc.None());
  const native = await nativeApplication();
  const own = { ...federation.native, redirectUri: native.redirectUri };
  for (const stolen of [{ pkceCodeVerifier: oidc.randomPKCECodeVerifier() }, { pkceCodeVerifier: undefined }, { port: '1025' }]) {
    const authorization = await buildAuthorizationRequest(client, own);
    const redirect = new URL(await signIn(new Browser(), authorization.url, { stopAt: native.redirectUri }));
    if (stolen.port) redirect.port = stolen.port;
    const checks = { pkceCodeVerifier: authorization.verifier, expectedState: authorization.state, expectedNonce: authorization.nonce, ...stolen };
    await assert.rejects(oidc.authorizationCodeGrant(client, redirect, checks), (error) => error.error === 'invalid_grant', JSON.stringify(stolen));
  }
  const page = await new Browser().open((await buildAuthorizationRequest(client, { ...own, redirectUri: native.redirectUri.replace('127.0.0.1', 'localhost') })).url);
  assert.equal(page.status, 400);
  await native.close();
});

/** Runs `action(manager, argument)` of oidc-client-ts on a page of the application. */
const run = (page, action, argument) => page.evaluate(
  async ([settings, source, value]) => {
    const manager = new globalThis.oidc.UserManager({ ...settings, userStore: new globalThis.oidc.WebStorageStateStore({ store: localStorage }) });
    // eslint-disable-next-line no-new-func
    return new Function('manager', 'value', `return (${source})(manager, value)`)(manager, value);
  },
  [spa.settings, String(action), argument],
);

/** Logs in on a page of the application, and comes back to it. */
async function logIn(page) {
  await page.goto(`${spa.origin}/`);
  await run(page, (manager, nonce) => { manager.signinRedirect({ nonce }); }, random(32));
  await page.locator('form[action$="/provider"] button').first().click();
  await page.locator('input[name=login]').fill('angela');
  await page.locator('input[name=password]').fill('any');
  await page.locator('button').click();
  await page.locator('form[action$="/consent"] button[value=yes]').click();
  await page.waitForURL(`${spa.origin}/callback?**`);
  return run(page, async (manager) => {
    const user = await manager.signinCallback();
    return { name: user.profile.family_name, token: user.access_token, scopes: user.scope };
  });
}

test('a single-page application logs in, reads userinfo and revokes its token from its own origin', async () => {
  const context = await browser.newContext();
  const page = await context.newPage();
  const user = await logIn(page);
  assert.equal(user.name, 'DUBOIS');
  await page.screenshot({ path: path.join(artifacts, 'single-page-application.png') });
  const ask = (token) => fetch(`${federation.hub.issuer}/userinfo`, { headers: { authorization: `Bearer ${token}` } });
  assert.equal((await ask(user.token)).status, 200);
  await run(page, (manager) => manager.revokeTokens(['access_token']));
  assert.equal((await ask(user.token)).status, 401);
  await context.close();
});

test('impersonation through silent consent: a session alone answers no public client, also not in a frame', async () => {
  const context = await browser.newContext();
  const page = await context.newPage();
  await logIn(page);
  const error = await run(page, (manager, nonce) => manager.signinSilent({ nonce, forceIframeAuth: true }).then(() => 'a code', (e) => e.error), random(32));
  assert.equal(error, 'consent_required');
  await context.close();
});

test('open CORS: pages of other origins read the public documents only, and no cookie is allowed', async () => {
  const context = await browser.newContext();
  const page = await context.newPage();
  const user = await logIn(page);
  const attempts = (target) => target.evaluate(async ([issuer, token]) => {
    const form = (fields) => ({ method: 'POST', body: new URLSearchParams(fields) });
    const calls = {
      discovery: [`${issuer}/.well-known/openid-configuration`],
      keys: [`${issuer}/jwks`],
      token: [`${issuer}/token`, form({ client_id: 'spa' })],
      userinfo: [`${issuer}/userinfo`, { headers: { authorization: `Bearer ${token}` } }],
      revocation: [`${issuer}/token/revocation`, form({ client_id: 'spa', token: 'x' })],
      withCookies: [`${issuer}/token`, { ...form({ client_id: 'spa' }), credentials: 'include' }],
      authorize: [`${issuer}/authorize?client_id=spa`],
    };
    const status = async ([name, args]) => [name, await fetch(...args).then((answer) => answer.status, () => 'unreadable')];
    return Object.fromEntries(await Promise.all(Object.entries(calls).map(status)));
  }, [federation.hub.issuer, user.token]);
  assert.deepEqual(await attempts(page), { discovery: 200, keys: 200, token: 400, userinfo: 200, revocation: 200, withCookies: 'unreadable', authorize: 'unreadable' });
  await page.goto(`http://localhost:${stranger.port}/`);
  assert.deepEqual(await attempts(page), { discovery: 200, keys: 200, token: 'unreadable', userinfo: 'unreadable', revocation: 'unreadable', withCookies: 'unreadable', authorize: 'unreadable' });
  await context.close();
});
