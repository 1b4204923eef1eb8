// Attack: a stranger tries to disable an identity provider for all users, with callbacks that its database, its size limit or its
// firewall answers with an error. Real outages must still be detected. The hub's probes are real, so some tests take seconds;
// deadlines are generous.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import * as oidc from 'openid-client';
import { discoverHub, buildAuthorizationRequest, startFederation } from './federation.mjs';
import { Browser, IDP_CLIENT, IDP_SECRET, chooseProvider, signIn, waitUntil } from './harness.mjs';
import { startIdp } from './real-idp.mjs';

const HTML_403 = { status: 403, body: '<html>Request blocked by the firewall</html>' };
const STATUS_500 = { status: 500, body: 'invalid byte sequence for encoding "UTF8": 0x00' };

let fed, client, idp;
const codes = [];
/** A response of a web application firewall in front of a token endpoint. */
function firewall({ code = '' }) {
  codes.push(code);
  if (code.includes('\0')) return STATUS_500;
  if (code.length > 8192) return { status: 413 };
  return code.includes('<') ? HTML_403 : undefined;
}
before(async () => {
  fed = await startFederation('hub-circuit', {}, { firewall });
  idp = fed.idp;
  client = await discoverHub(fed.hub, fed.sp);
});
after(async () => { await fed?.hub.stop(); await idp?.close(); });

async function logIn() {
  const authorization = await buildAuthorizationRequest(client, fed.sp);
  const redirect = await signIn(new Browser(), authorization.url, { stopAt: fed.sp.redirectUri });
  return oidc.authorizationCodeGrant(client, new URL(redirect), { pkceCodeVerifier: authorization.verifier, expectedState: authorization.state, expectedNonce: authorization.nonce });
}
const metrics = async () => (await fetch(`${fed.hub.privateBase}/metrics`)).text();
const circuit = async () => (await metrics()).match(/passerelle_connector_circuit_state\{connector="real",state="(\w+)"\} 1/)?.[1];
const isOffered = async () => (await new Browser().open((await buildAuthorizationRequest(client, fed.sp)).url)).html.includes('value="real"');
const readyz = async () => (await fetch(`${fed.hub.privateBase}/readyz`)).text();
/** Waits until `condition` holds, for `limit` seconds at most. Returns the seconds that it took. */
async function measureSeconds(condition, what, limit) {
  const began = performance.now();
  await waitUntil(condition, what, limit);
  return (performance.now() - began) / 1000;
}
/** Sends a callback with this code, from a browser with the right cookie and state. */
async function callBack(code) {
  const browser = new Browser();
  const away = await chooseProvider(browser, await browser.open((await buildAuthorizationRequest(client, fed.sp)).url), 'real', fed.idp.issuer);
  const state = new URL(away.url).searchParams.get('state');
  const page = await browser.open(`${fed.hub.issuer}/callback/real?${new URLSearchParams({ code, state, iss: fed.idp.issuer })}`);
  return { browser, away, page };
}

test('callbacks with codes that make an identity provider answer 500, 413 or 403 open no circuit', async () => {
  await logIn();
  codes.length = 0;
  for (const code of ['\0abc', 'x'.repeat(40_000), '<script>alert(1)</script>']) {
    for (let n = 0; n < 5; n += 1) {
      const { page } = await callBack(code);
      assert.ok(page.status >= 400 || page.url.includes('/interaction/'), `${page.status} ${page.url}`);
      assert.equal(await circuit(), 'closed');
    }
  }
  assert.deepEqual(codes.filter((code) => code.includes('\0') || code.length > 4096), [], 'such a code reached the identity provider');
  assert.ok(codes.filter((code) => code.includes('<')).length >= 5, 'the firewall was not met');
  // The user continues the same login.
  for (let n = 0; n < 20; n += 1) await callBack(`<script>${n}`);
  // The hub never redeems a code of its own making: to an identity provider that is code guessing.
  await new Promise((done) => { setTimeout(done, 3000); });
  assert.equal(await circuit(), 'closed');
  assert.ok(await isOffered(), 'it is disabled for everybody');
  assert.deepEqual(codes.filter((code) => code.length === 43 && !code.includes('<')), [], 'the hub guesses codes');
  await logIn();
});

test('a login whose callback was forged goes on', async () => {
  const { browser, away, page } = await callBack('\0abc');
  assert.match(page.html, /Y020310/);
  const consent = await browser.submit(await browser.open(away.url), { values: { login: 'angela' } });
  assert.equal(consent.status, 200, consent.html);
});

test('an identity provider that dies after its documents were fetched is disabled, and offered again when it is back', async () => {
  await logIn();
  await idp.close();
  console.log(`disabled after ${(await measureSeconds(async () => !await isOffered(), 'the disabled choice', 60)).toFixed(1)} s`);
  assert.equal(await circuit(), 'open');
  assert.match(await readyz(), /1 of 1 identity providers is down: real/);
  idp = await startIdp({
    port: Number(new URL(fed.idp.issuer).port), clientId: IDP_CLIENT, clientSecret: IDP_SECRET, userinfoAlg: 'ES256',
    redirectUris: [`${fed.hub.issuer}/callback/real`],
  });
  console.log(`offered again after ${(await measureSeconds(isOffered, 'its return', 60)).toFixed(1)} s`);
  await logIn();
});
