// Refresh tokens as a real client uses them (npm openid-client): rotation, reuse, revocation, and a grant that is bound to a key.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import * as oidc from 'openid-client';
import { SCOPE, discoverHub, buildAuthorizationRequest, startFederation } from './federation.mjs';
import { Browser, signIn } from './harness.mjs';

let federation;
before(async () => {
  federation = await startFederation('hub-refresh-tokens', {
    offline: { extra: 'consent = "required"\n[refresh_tokens]' },
    native: { secret: undefined, extra: 'token_endpoint_auth_method = "none"\nconsent = "required"\n[refresh_tokens]' },
  });
});
after(() => federation?.stop());

/** The tokens of a login with offline_access. */
async function tokensOf(client, sp, options) {
  const authorization = await buildAuthorizationRequest(client, sp, { scope: `${SCOPE} offline_access`, prompt: 'consent' });
  const redirect = new URL(await signIn(new Browser(), authorization.url, { stopAt: sp.redirectUri }));
  const checks = { pkceCodeVerifier: authorization.verifier, expectedState: authorization.state, expectedNonce: authorization.nonce };
  return oidc.authorizationCodeGrant(client, redirect, checks, undefined, options);
}

const isInvalidGrant = (error) => error.error === 'invalid_grant' && error.status === 400;

test('a refresh token is replaced at each use, and a stolen one that is used again ends the grant', async () => {
  const { hub, offline } = federation;
  const client = await discoverHub(hub, offline);
  assert.ok(client.serverMetadata().grant_types_supported.includes('refresh_token'));
  assert.ok(client.serverMetadata().scopes_supported.includes('offline_access'));
  const first = await tokensOf(client, offline);
  const { sub } = first.claims();
  const second = await oidc.refreshTokenGrant(client, first.refresh_token);
  assert.notEqual(second.refresh_token, first.refresh_token);
  assert.equal((await oidc.fetchUserInfo(client, second.access_token, sub)).family_name, 'DUBOIS');
  const repeated = await oidc.refreshTokenGrant(client, first.refresh_token);
  assert.equal(repeated.refresh_token, second.refresh_token, 'a confidential client may repeat a request whose answer was lost');
  const third = await oidc.refreshTokenGrant(client, second.refresh_token);
  await assert.rejects(oidc.refreshTokenGrant(client, first.refresh_token), isInvalidGrant);
  await assert.rejects(oidc.refreshTokenGrant(client, third.refresh_token), isInvalidGrant);
  await assert.rejects(oidc.fetchUserInfo(client, third.access_token, sub));
});

test('a refresh token that its client revokes ends its access tokens', async () => {
  const { hub, offline } = federation;
  const client = await discoverHub(hub, offline);
  const tokens = await tokensOf(client, offline);
  await oidc.tokenRevocation(client, tokens.refresh_token, { token_type_hint: 'refresh_token' });
  await assert.rejects(oidc.refreshTokenGrant(client, tokens.refresh_token), isInvalidGrant);
  await assert.rejects(oidc.fetchUserInfo(client, tokens.access_token, tokens.claims().sub));
});

test('a public client keeps a refresh token that is bound to its DPoP key, and a thief without the key gets nothing', async () => {
  const { hub, native } = federation;
  const client = await discoverHub(hub, native, oidc.None());
  const DPoP = oidc.getDPoPHandle(client, await oidc.randomDPoPKeyPair());
  const tokens = await tokensOf(client, native, { DPoP });
  const thief = { DPoP: oidc.getDPoPHandle(client, await oidc.randomDPoPKeyPair()) };
  for (const options of [thief, undefined]) {
    await assert.rejects(oidc.refreshTokenGrant(client, tokens.refresh_token, undefined, options), isInvalidGrant);
  }
  for (const round of [1, 2]) {
    const next = await oidc.refreshTokenGrant(client, tokens.refresh_token, undefined, { DPoP });
    assert.equal(next.token_type, 'dpop', `round ${round}`);
    assert.equal(next.refresh_token, undefined);
    assert.equal((await oidc.fetchUserInfo(client, next.access_token, tokens.claims().sub, { DPoP })).family_name, 'DUBOIS');
  }
});

test('a service provider without refresh tokens gets none for offline_access', async () => {
  const { hub, sp } = federation;
  const client = await discoverHub(hub, sp);
  const tokens = await tokensOf(client, sp);
  assert.equal(tokens.refresh_token, undefined);
  assert.equal(tokens.scope, SCOPE);
});
