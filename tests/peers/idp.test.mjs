// The two real peers face to face, without a hub: what the other tests lean on holds by itself.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as oidc from 'openid-client';
import { Browser, IDP_CLIENT, IDP_SECRET, freePorts, random } from './harness.mjs';
import { startIdp } from './real-idp.mjs';

for (const userinfoAlg of [undefined, 'ES256']) {
  test(`the real identity provider serves a real client, userinfo ${userinfoAlg ?? 'as JSON'}`, async () => {
    const [port] = await freePorts(1);
    const redirect_uri = 'http://localhost:1/callback';
    const idp = await startIdp({ port, clientId: IDP_CLIENT, clientSecret: IDP_SECRET, redirectUris: [redirect_uri], userinfoAlg });
    try {
      const metadata = { id_token_signed_response_alg: 'ES256', ...(userinfoAlg && { userinfo_signed_response_alg: userinfoAlg }) };
      const client = await oidc.discovery(new URL(idp.issuer), IDP_CLIENT, metadata, oidc.ClientSecretPost(IDP_SECRET), {
        execute: [oidc.allowInsecureRequests, oidc.enableNonRepudiationChecks],
      });
      assert.equal(client.serverMetadata().authorization_response_iss_parameter_supported, true);
      const verifier = oidc.randomPKCECodeVerifier();
      const [state, nonce] = [random(), random()];
      const url = oidc.buildAuthorizationUrl(client, {
        redirect_uri, state, nonce, prompt: 'login', acr_values: 'eidas1', scope: 'openid identite_pivot email preferred_username',
        code_challenge: await oidc.calculatePKCECodeChallenge(verifier), code_challenge_method: 'S256',
      });
      const browser = new Browser();
      const page = await browser.open(url.href);
      const back = await browser.submit(page, { values: { login: 'angela' }, stopAt: redirect_uri });
      assert.ok(back.stopped, back.html);
      const tokens = await oidc.authorizationCodeGrant(client, new URL(back.url), {
        pkceCodeVerifier: verifier, expectedState: state, expectedNonce: nonce,
      });
      const claims = tokens.claims();
      assert.equal(claims.acr, 'eidas1');
      assert.deepEqual(claims.amr, ['pwd']);
      assert.equal(typeof claims.auth_time, 'number');
      const person = await oidc.fetchUserInfo(client, tokens.access_token, claims.sub);
      assert.equal(person.birthplace, '75107');
      assert.equal(person.email, 'angela@example.org');
      assert.deepEqual(idp.faults, []);
    } finally {
      await idp.close();
    }
  });
}
