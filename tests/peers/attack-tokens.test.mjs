// Overheard client assertions and found codes, against a real hub that is killed and started again; and a refusal that a
// service provider expects by form post.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { SignJWT, exportJWK, generateKeyPair } from 'jose';
import { discoverHub, redeemCode, buildAuthorizationRequest, startFederation, fetchUserinfo } from './federation.mjs';
import { Browser, parseForms, random, signIn } from './harness.mjs';

const JWT_BEARER = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
const key = await generateKeyPair('ES256', { extractable: true });
const published = Object.entries({ ...await exportJWK(key.publicKey), kid: 'ec-1', use: 'sig', alg: 'ES256' })
  .map(([name, value]) => `${name} = "${value}"`).join('\n');
const signer = { secret: undefined, extra: `token_endpoint_auth_method = "private_key_jwt"\n[[jwks.keys]]\n${published}` };
const plain = { scopes: ['openid', 'profile'], extra: 'rules = "openid"' };

let federation;
before(async () => { federation = await startFederation('attack-tokens', { signer, plain }); });
after(() => federation?.stop());

const sign = () => {
  const { issuer } = federation.hub;
  return new SignJWT({ jti: random() }).setProtectedHeader({ alg: 'ES256', kid: 'ec-1' })
    .setIssuer('signer').setSubject('signer').setAudience(issuer).setIssuedAt().setExpirationTime('4m').sign(key.privateKey);
};
const present = async (client_assertion) => (await fetch(`${federation.hub.issuer}/token`, {
  method: 'POST',
  body: new URLSearchParams({ grant_type: 'authorization_code', code: 'none', redirect_uri: 'https://sp.example/', client_assertion_type: JWT_BEARER, client_assertion }),
})).json();

test('an overheard assertion does not count again after the hub was killed, and a new one counts at once', async () => {
  const overheard = await sign();
  assert.equal((await present(overheard)).error, 'invalid_grant', 'it counted: the code is none');
  // iat has whole seconds: the next start is distinguishable only in the next second.
  const { iat } = JSON.parse(Buffer.from(overheard.split('.')[1], 'base64url'));
  await federation.hub.restart('SIGKILL', async () => {
    while (Math.floor(Date.now() / 1000) <= iat) await new Promise((done) => { setTimeout(done, 20); });
  });
  const replayed = await present(overheard);
  assert.equal(replayed.error, 'invalid_client');
  assert.match(replayed.error_description, /may have been used before/);
  assert.equal((await present(await sign())).error, 'invalid_grant');
  assert.match(federation.hub.log(), /Y040362/);
});

test('a client that found another\'s spent code ends nothing with it', async () => {
  const { hub, sp, other } = federation;
  const client = await discoverHub(hub, sp);
  const authorization = await buildAuthorizationRequest(client, sp);
  const redirect = new URL(await signIn(new Browser(), authorization.url, { stopAt: sp.redirectUri }));
  const fields = { code: redirect.searchParams.get('code'), redirect_uri: sp.redirectUri, code_verifier: authorization.verifier };
  const { body: tokens } = await redeemCode(hub, sp, fields);
  const lives = async () => (await fetchUserinfo(hub, tokens.access_token)).status === 200;
  for (let tries = 0; tries < 3; tries += 1) {
    const refused = await redeemCode(hub, other, fields);
    assert.deepEqual([refused.status, refused.body.error], [400, 'invalid_grant']);
    assert.ok(await lives(), 'the token of the one that it was issued to');
  }
  assert.equal((await redeemCode(hub, sp, fields)).status, 400);
  assert.ok(!await lives(), 'its own client, twice: one of the two was a thief');
});

test('Form Post plan: an unsigned request object is refused by form post, with the state that it holds', async () => {
  const { hub, sps } = federation;
  const part = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const state = random();
  const object = `${part({ alg: 'none' })}.${part({ state, response_mode: 'form_post', redirect_uri: 'https://evil.example/' })}.`;
  const page = await new Browser().open(`${hub.issuer}/authorize?${new URLSearchParams({
    client_id: sps.plain.id, redirect_uri: sps.plain.redirectUri, response_type: 'code', scope: 'openid', request: object,
  })}`, { stopAt: sps.plain.redirectUri });
  assert.ok(!page.stopped, `it went by query: ${page.url}`);
  const [form] = parseForms(page.html, page.url);
  assert.deepEqual([form.method, form.action], ['POST', sps.plain.redirectUri]);
  const { error, state: returned } = Object.fromEntries(form.fields);
  assert.deepEqual([error, returned], ['request_not_supported', state]);
});
