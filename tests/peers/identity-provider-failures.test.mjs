// A real identity provider that comes back with new keys under the old names, that is down, and that gets up again: the
// hub goes through all of it without a restart, and without an operator.
import assert from 'node:assert/strict';
import { utimesSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import * as oidc from 'openid-client';
import { discoverHub, buildAuthorizationRequest, startFederation } from './federation.mjs';
import { Browser, IDP_CLIENT, IDP_SECRET, chooseProvider, freePorts, oidcConnector, random, signIn, startHub, startServer, waitUntil } from './harness.mjs';
import { startIdp } from './real-idp.mjs';

let fed, client, idp;
before(async () => {
  fed = await startFederation('hub-trouble');
  idp = fed.idp;
  client = await discoverHub(fed.hub, fed.sp);
});
after(async () => { await fed?.hub.stop(); await idp?.close(); });

/** The same identity provider, with new keys at each start. */
const startAgain = () => startIdp({
  port: Number(new URL(fed.idp.issuer).port), clientId: IDP_CLIENT, clientSecret: IDP_SECRET, userinfoAlg: 'ES256',
  redirectUris: [`${fed.hub.issuer}/callback/real`],
});
async function logIn(browser = new Browser()) {
  const authorization = await buildAuthorizationRequest(client, fed.sp);
  const redirect = await signIn(browser, authorization.url, { stopAt: fed.sp.redirectUri });
  return oidc.authorizationCodeGrant(client, new URL(redirect), { pkceCodeVerifier: authorization.verifier, expectedState: authorization.state, expectedNonce: authorization.nonce });
}
const keys = async () => (await (await fetch(`${fed.idp.issuer}/jwks`)).json()).keys;
const circuit = async () => {
  const metrics = await (await fetch(`${fed.hub.privateBase}/metrics`)).text();
  return metrics.match(/passerelle_connector_circuit_state\{connector="real",state="(\w+)"\} 1/)?.[1];
};
const choicePage = async () => new Browser().open((await buildAuthorizationRequest(client, fed.sp)).url);

test('new keys under the old names are found at the next login', async () => {
  await logIn();
  const [old] = await keys();
  await idp.close();
  idp = await startAgain();
  const [fresh] = await keys();
  assert.equal(fresh.kid, old.kid);
  assert.notEqual(fresh.x, old.x);
  await logIn();
  assert.deepEqual(idp.faults, []);
  assert.equal(await circuit(), 'closed');
});

test('one that is down is disabled, reported once, and found to be back without a restart', async () => {
  const signedIn = new Browser();
  const { id_token: hint } = await logIn(signedIn);
  const backs = [];
  for (let n = 0; n < 5; n += 1) {
    const browser = new Browser();
    const away = await chooseProvider(browser, await browser.open((await buildAuthorizationRequest(client, fed.sp)).url), 'real', fed.idp.issuer);
    const state = new URL(away.url).searchParams.get('state');
    backs.push([browser, `${fed.hub.issuer}/callback/real?${new URLSearchParams({ code: 'c', state, iss: fed.idp.issuer })}`]);
  }
  await idp.close();
  for (const [browser, back] of backs) assert.match((await browser.open(back)).html, /Y020003|Y020100/);
  // These came from one network, which opens no circuit: the hub's own probe does.
  await waitUntil(async () => await circuit() === 'open', 'the open circuit');
  const page = await choicePage();
  assert.ok(!page.html.includes('value="real"') && page.html.includes('Out of order at the moment'), page.html);
  const lines = fed.hub.log().split('\n').filter((line) => line.includes('circuit opened'));
  assert.equal(lines.length, 1, lines.join('\n'));
  assert.ok(lines[0].includes('Y020003') && lines[0].includes('connector=real'), lines[0]);

  // A user who logs out is not redirected to a server that does not answer.
  const out = { id_token_hint: hint, post_logout_redirect_uri: fed.sp.postLogoutUri, state: 'a-state-of-at-least-32-characters!' };
  const left = await signedIn.open(`${fed.hub.issuer}/session/end?${new URLSearchParams(out)}`, { stopAt: fed.sp.postLogoutUri });
  assert.equal(new URL(left.url).searchParams.get('state'), out.state, left.html);

  idp = await startAgain();
  await waitUntil(async () => (await choicePage()).html.includes('value="real"'), 'its return to the choice');
  await logIn();
  assert.equal(await circuit(), 'closed');
  assert.ok(!(await choicePage()).html.includes('Had a problem a moment ago'));
});

test('one whose connector file is touched is tried again at once, not when its turn comes', async () => {
  const asked = [];
  const broken = await startServer((request, response) => { asked.push(performance.now()); response.writeHead(500).end(); });
  const [port, privatePort] = await freePorts(2);
  const sps = [{ id: 'shop', secret: random(), redirectUris: [`http://localhost:${port}/back`] }];
  const hub = await startHub('hub-touched', { port, privatePort, sps, connectors: { real: oidcConnector(`http://localhost:${broken.port}`) } });
  try {
    // The hub waits longer after each failure.
    const pause = () => asked.at(-1) - asked.at(-2);
    await waitUntil(() => asked.length > 1 && pause() > 8000, 'a pause of eight seconds', 60);
    const [touched, tries, least] = [performance.now(), asked.length, pause()];
    utimesSync(path.join(hub.folder, 'connectors/real.toml'), new Date(), new Date());
    await waitUntil(() => asked.length > tries, 'the next try', 60);
    assert.ok(asked[tries] - touched < least, `tried after ${asked[tries] - touched} ms, as after the pause of ${least} ms before it`);
  } finally {
    await hub.stop();
    await broken.close();
  }
});
