// A redirect URI and a scope that the operator takes out of a service provider's file while people sign in, against the real
// program: the login, the code and the token that were under way get and release nothing more.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { discoverHub, redeemCode, buildAuthorizationRequest, startFederation, fetchUserinfo } from './federation.mjs';
import { Browser, answerConsent, chooseProvider, waitUntil } from './harness.mjs';

let federation, client;
before(async () => {
  federation = await startFederation('hub-withdrawn');
  client = await discoverHub(federation.hub, federation.sp);
});
after(() => federation?.stop());

/** A login whose browser stands at the consent page. */
async function consenting() {
  const [browser, authorization] = [new Browser(), await buildAuthorizationRequest(client, federation.sp)];
  const choice = await browser.open(authorization.url, { stopAt: federation.sp.redirectUri });
  const upstream = await chooseProvider(browser, choice, 'real');
  return { browser, asked: authorization, page: await browser.submit(upstream, { values: { login: 'angela' } }) };
}
const finish = async ({ browser, asked, page }) => {
  const back = await answerConsent(browser, page, 'yes', federation.sp.redirectUri);
  return { back, code: back.stopped ? new URL(back.url).searchParams.get('code') : null, code_verifier: asked.verifier };
};
const token = async (login) => {
  const { code, code_verifier } = await finish(login);
  return (await redeemCode(federation.hub, federation.sp, { code, code_verifier })).body.access_token;
};

/** Runs `during` while the file of `sp` is changed; the hub has read both changes when it goes on. */
async function changed(from, to, during) {
  const file = path.join(federation.hub.folder, 'service-providers', `${federation.sp.id}.toml`);
  const original = readFileSync(file, 'utf8');
  assert.ok(original.includes(from), original);
  const probe = (text) => waitUntil(async () => {
    const answer = await fetch((await buildAuthorizationRequest(client, federation.sp, { prompt: 'none' })).url, { redirect: 'manual' });
    const location = answer.headers.get('location') ?? '';
    return (answer.status === 303 && location.includes('error=login_required')) === (text === original);
  }, 'the change of the redirect URI');
  const write = async (text) => { writeFileSync(file, text); await probe(text); };
  await write(original.replace(from, to));
  try {
    await during();
  } finally {
    await write(original);
  }
}

test('a redirect URI withdrawn mid-login gets a page, its code no token, its token no claims', async () => {
  const [waiting, redeemable, released] = [await consenting(), await finish(await consenting()), await token(await consenting())];
  assert.equal((await fetchUserinfo(federation.hub, released)).status, 200);
  await changed(federation.sp.redirectUri, `${federation.sp.redirectUri}/elsewhere`, async () => {
    const { back } = await finish(waiting);
    assert.ok(!back.stopped && back.status === 403 && back.html.includes('Y420320'), `${back.status} ${back.url}`);
    const { status, body } = await redeemCode(federation.hub, federation.sp, redeemable);
    assert.deepEqual([status, body.error], [400, 'invalid_grant']);
    assert.equal((await fetchUserinfo(federation.hub, released)).status, 401);
  });
});

test('a scope withdrawn mid-login releases nothing more', async () => {
  const [waiting, redeemable, released] = [await consenting(), await finish(await consenting()), await token(await consenting())];
  await changed('"email", ', '', async () => {
    const { back } = await finish(waiting);
    assert.equal(new URL(back.url).searchParams.get('error'), 'invalid_scope', back.url);
    const { status, body } = await redeemCode(federation.hub, federation.sp, redeemable);
    assert.deepEqual([status, body.error], [400, 'invalid_grant']);
    const answer = await fetchUserinfo(federation.hub, released);
    assert.equal(answer.status, 401);
    assert.ok(!(await answer.text()).includes('angela'));
  });
});
