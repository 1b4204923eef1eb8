// The two real peers face to face, without a hub: what the other tests lean on holds by itself. Then a real identity
// provider that encrypts its responses to the hub, and lets it prove itself in other ways than by a posted secret.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from 'jose';
import * as oidc from 'openid-client';
import { discoverHub, buildAuthorizationRequest } from './federation.mjs';
import { Browser, IDP_CLIENT, IDP_SECRET, freePorts, oidcConnector, random, signIn, startHub } from './harness.mjs';
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

/** What the identity provider registers of the hub, and what the hub's connector file says of it. */
const ENCRYPTED = {
  'rsa-and-assertion': {
    signing: 'ES256', encryption: 'RSA-OAEP-256', client: { client_secret: undefined, token_endpoint_auth_method: 'private_key_jwt' },
    file: ['token_endpoint_auth_method = "private_key_jwt"'], secret: '',
  },
  'ec-and-basic': {
    signing: 'RS256', encryption: 'ECDH-ES', client: { token_endpoint_auth_method: 'client_secret_basic' },
    file: ['token_endpoint_auth_method = "client_secret_basic"'],
  },
  'rs256-assertion': {
    signing: 'RS256', encryption: 'RSA-OAEP', file: ['token_endpoint_auth_method = "private_key_jwt"', 'token_endpoint_auth_signing_alg = "RS256"'],
    client: { client_secret: undefined, token_endpoint_auth_method: 'private_key_jwt', token_endpoint_auth_signing_alg: 'RS256' }, secret: '',
  },
};

test('a real identity provider encrypts its responses to the hub, and accepts its client assertion', async () => {
  const [port, privatePort, ...idpPorts] = await freePorts(2 + Object.keys(ENCRYPTED).length);
  const jwks_uri = `http://localhost:${port}/api/v2/client/jwks`;
  const idps = {};
  const connectors = {};
  let hub;
  try {
    for (const [id, { signing, encryption, client, file, secret }] of Object.entries(ENCRYPTED)) {
      const encrypt = (answer) => ({
        [`${answer}_signed_response_alg`]: signing, [`${answer}_encrypted_response_alg`]: encryption, [`${answer}_encrypted_response_enc`]: 'A256GCM',
      });
      const registered = { ...encrypt('id_token'), ...encrypt('userinfo') };
      idps[id] = await startIdp({
        port: idpPorts.pop(), clientId: IDP_CLIENT, clientSecret: IDP_SECRET,
        redirectUris: [`http://localhost:${port}/api/v2/callback/${id}`], client: { jwks_uri, ...registered, ...client },
      });
      const lines = [...file, ...Object.entries(registered).map(([key, value]) => `${key} = "${value}"`)];
      connectors[id] = oidcConnector(idps[id].issuer, lines.join('\n'), { secret });
    }
    const sp = { id: 'alpha', secret: random(32), redirectUri: `http://localhost:${port}/sp/alpha/callback` };
    hub = await startHub('hub-encrypted', {
      port, privatePort, connectors,
      sps: [{ id: sp.id, secret: sp.secret, redirectUris: [sp.redirectUri], scopes: ['openid', 'profile', 'birth', 'email', 'preferred_username', 'given_name', 'family_name', 'birthdate', 'gender', 'birthplace', 'birthcountry'] }],
    });

    const published = await fetch(jwks_uri);
    assert.equal(published.headers.get('content-type'), 'application/json; charset=utf-8');
    assert.equal(published.headers.get('cache-control'), 'public, max-age=600');
    const { keys } = await published.json();
    assert.equal((await fetch(jwks_uri, { method: 'HEAD' })).status, 200);
    const issuerKeys = (await (await fetch(`${hub.issuer}/jwks`)).json()).keys.map((key) => key.kid);
    for (const key of keys) {
      assert.ok(key.kid && key.alg && ['enc', 'sig'].includes(key.use), key.kid);
      for (const member of ['d', 'p', 'q', 'dp', 'dq', 'qi', 'k']) assert.ok(!(member in key), `a private member ${member}`);
      assert.ok(!issuerKeys.includes(key.kid), 'a key of the issuer');
    }

    const client = await discoverHub(hub, sp);
    for (const [id, { encryption, client: registered }] of Object.entries(ENCRYPTED)) {
      const authorization = await buildAuthorizationRequest(client, sp);
      const redirect = await signIn(new Browser(), authorization.url, { connector: id, stopAt: sp.redirectUri });
      const tokens = await oidc.authorizationCodeGrant(client, new URL(redirect), {
        pkceCodeVerifier: authorization.verifier, expectedState: authorization.state, expectedNonce: authorization.nonce,
      });
      const person = await oidc.fetchUserInfo(client, tokens.access_token, tokens.claims().sub);
      assert.equal(person.family_name, 'DUBOIS', id);
      assert.equal(person.email, 'angela@example.org', id);

      const [token, userinfo] = idps[id].answers;
      for (const encrypted of [token.body.id_token, String(userinfo.body)]) {
        const { alg, enc, kid } = decodeProtectedHeader(encrypted);
        assert.deepEqual([alg, enc, encrypted.split('.').length], [encryption, 'A256GCM', 5], id);
        assert.equal(keys.find((key) => key.kid === kid)?.alg, encryption, id);
      }
      assert.equal(userinfo.type, 'application/jwt', id);
      assert.deepEqual(idps[id].faults, [], id);
      if (registered.token_endpoint_auth_method === 'client_secret_basic') {
        assert.match(token.authorization, /^Basic /);
        assert.ok(!('client_secret' in token.form) && !('client_assertion' in token.form));
      } else {
        assert.equal(token.authorization, '');
        assert.ok(!('client_secret' in token.form));
        const { payload, protectedHeader } = await jwtVerify(token.form.client_assertion, createRemoteJWKSet(new URL(jwks_uri)), {
          issuer: IDP_CLIENT, subject: IDP_CLIENT, audience: idps[id].issuer, maxTokenAge: 60,
        });
        assert.equal(protectedHeader.alg, registered.token_endpoint_auth_signing_alg ?? 'ES256');
        assert.equal(payload.exp - payload.iat, 60);
      }
    }
  } finally {
    await hub?.stop();
    for (const idp of Object.values(idps)) await idp.close();
  }
});
