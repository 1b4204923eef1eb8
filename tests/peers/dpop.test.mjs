// DPoP as a real client does it (npm openid-client): bound tokens with each algorithm, nonces, a bound code, and a thief.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { calculateJwkThumbprint, exportJWK } from 'jose';
import * as oidc from 'openid-client';
import { discover, request, startFederation } from './federation.mjs';
import { Browser, signIn } from './harness.mjs';

let federation;
before(async () => {
  federation = await startFederation('hub-dpop', {
    bound: { extra: 'dpop_bound_access_tokens = true\ndpop_nonce_required = true' },
  });
});
after(() => federation?.stop());

const logIn = async (asked, sp) => new URL(await signIn(new Browser(), asked.url, { stopAt: sp.redirectUri }));
const checksOf = (asked) => ({ pkceCodeVerifier: asked.verifier, expectedState: asked.state, expectedNonce: asked.nonce });

for (const alg of ['ES256', 'PS256', 'RS256', 'EdDSA', 'Ed25519']) {
  test(`a token that is bound to a key of ${alg}, with the nonce that the hub asks for`, async () => {
    const { hub, bound } = federation;
    const client = await discover(hub, bound);
    assert.ok(client.serverMetadata().dpop_signing_alg_values_supported.includes(alg));
    const DPoP = oidc.getDPoPHandle(client, await oidc.randomDPoPKeyPair(alg));
    const asked = await request(client, bound, { dpop_jkt: await DPoP.calculateThumbprint() });
    const tokens = await oidc.authorizationCodeGrant(client, await logIn(asked, bound), checksOf(asked), undefined, { DPoP });
    assert.equal(tokens.token_type, 'dpop');
    const claims = await oidc.fetchUserInfo(client, tokens.access_token, tokens.claims().sub, { DPoP });
    assert.equal(claims.family_name, 'DUBOIS');
    // The token alone, and with the key of a thief.
    const bearer = await fetch(`${hub.issuer}/userinfo`, { headers: { authorization: `Bearer ${tokens.access_token}` } });
    assert.equal(bearer.status, 401);
    assert.match(bearer.headers.get('www-authenticate'), /^DPoP error="invalid_token", algs="ES256 /);
    const thief = oidc.getDPoPHandle(client, await oidc.randomDPoPKeyPair('ES256'));
    await assert.rejects(oidc.fetchUserInfo(client, tokens.access_token, tokens.claims().sub, { DPoP: thief }), (error) => error.cause?.some?.(({ parameters }) => parameters.error === 'invalid_token'));
  });
}

test('a code that is bound by dpop_jkt to one key is refused with another', async () => {
  const { hub, sp } = federation;
  const client = await discover(hub, sp);
  const keys = await oidc.randomDPoPKeyPair('ES256', { extractable: true });
  const asked = await request(client, sp, { dpop_jkt: await calculateJwkThumbprint(await exportJWK(keys.publicKey)) });
  const DPoP = oidc.getDPoPHandle(client, await oidc.randomDPoPKeyPair('ES256'));
  await assert.rejects(
    oidc.authorizationCodeGrant(client, await logIn(asked, sp), checksOf(asked), undefined, { DPoP }),
    (error) => error.error === 'invalid_grant' && error.status === 400,
  );
});

test('a client that sends no proof gets a bearer token as before, and none where its file demands proofs', async () => {
  const { hub, sp, bound } = federation;
  for (const [who, ending] of [[sp, 'bearer'], [bound, 'invalid_dpop_proof']]) {
    const client = await discover(hub, who);
    const asked = await request(client, who);
    const answer = oidc.authorizationCodeGrant(client, await logIn(asked, who), checksOf(asked));
    assert.equal(await answer.then((tokens) => tokens.token_type, (error) => error.error), ending);
  }
});
