// Dynamic client registration (RFC 7591, RFC 7592): npm openid-client registers by itself and signs a person in, and an operator
// approves, exports and removes by the commands.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { exportJWK, generateKeyPair } from 'jose';
import * as oidc from 'openid-client';
import { startFederation } from './federation.mjs';
import { Browser, program, random, signIn } from './harness.mjs';

let federation;
before(async () => {
  federation = await startFederation('hub-client-registration', {}, {
    settings: 'client_registration = { requests_per_network = 1000 }',
  });
});
after(() => federation?.stop());

const run = promisify(execFile);
const clients = async (command, ...args) => {
  const { hub } = federation;
  const options = ['--config', hub.folder, '--private', hub.privateBase];
  return (await run(program, ['clients', command, ...options, ...args])).stdout;
};
const createToken = async (...args) => (await clients('create-token', '--purpose', 'ticket 4711', '--scopes', 'openid profile email', ...args)).trim();
const redirectUri = 'http://localhost:3999/callback';
const metadata = { client_name: 'Corner shop', client_uri: 'https://shop.example/', redirect_uris: [redirectUri] };
const insecure = { execute: [oidc.allowInsecureRequests] }; // http on loopback

const register = (token, more = {}, authentication) => oidc.dynamicClientRegistration(
  new URL(federation.hub.issuer), { ...metadata, ...more }, authentication, { ...insecure, initialAccessToken: token },
);

async function signsIn(client) {
  const [state, nonce, verifier] = [random(32), random(32), oidc.randomPKCECodeVerifier()];
  const url = oidc.buildAuthorizationUrl(client, {
    redirect_uri: redirectUri, scope: 'openid profile', state, nonce,
    code_challenge: await oidc.calculatePKCECodeChallenge(verifier), code_challenge_method: 'S256',
  });
  const redirect = await signIn(new Browser(), url.href, { stopAt: redirectUri });
  const tokens = await oidc.authorizationCodeGrant(client, new URL(redirect), {
    pkceCodeVerifier: verifier, expectedState: state, expectedNonce: nonce, idTokenExpected: true,
  });
  return oidc.fetchUserInfo(client, tokens.access_token, tokens.claims().sub);
}

test('openid-client: registers with a token and signs a person in, by each method of authentication', async () => {
  const token = await createToken('--registrations', '4', '--approved');
  const rows = [
    [{}, undefined],
    [{ token_endpoint_auth_method: 'client_secret_basic' }, oidc.ClientSecretBasic()],
    [{ token_endpoint_auth_method: 'client_secret_post' }, oidc.ClientSecretPost()],
    [{ token_endpoint_auth_method: 'none', application_type: 'native' }, oidc.None()],
  ];
  for (const [more, authentication] of rows) {
    const client = await register(token, more, authentication);
    assert.equal(client.clientMetadata().registration_status, 'approved');
    assert.equal((await signsIn(client)).family_name, 'DUBOIS', JSON.stringify(more));
  }
  await assert.rejects(register(token), (error) => error.error === 'access_denied');
});

test('openid-client registers encryption, and decrypts ID token and userinfo', async () => {
  const { publicKey, privateKey } = await generateKeyPair('ECDH-ES', { crv: 'P-256', extractable: true });
  const encryption = (response) => ({ [`${response}_encrypted_response_alg`]: 'ECDH-ES', [`${response}_encrypted_response_enc`]: 'A256GCM' });
  const jwks = { keys: [{ ...await exportJWK(publicKey), kid: 'enc-1', use: 'enc', alg: 'ECDH-ES' }] };
  const client = await register(await createToken('--approved'), {
    client_name: 'Sealed shop', client_uri: 'https://sealed.example/', jwks, userinfo_signed_response_alg: 'RS256', ...encryption('id_token'), ...encryption('userinfo'),
  });
  const received = [];
  client[oidc.customFetch] = async (...request) => {
    const response = await fetch(...request);
    received.push(await response.clone().text());
    return response;
  };
  await assert.rejects(signsIn(client), 'without the key');
  oidc.enableDecryptingResponses(client, ['A256GCM'], { key: privateKey, alg: 'ECDH-ES', kid: 'enc-1' });
  assert.equal((await signsIn(client)).family_name, 'DUBOIS');
  const [tokens, userinfo] = received.slice(-2);
  for (const jwe of [JSON.parse(tokens).id_token, userinfo]) {
    const { alg, enc, kid } = JSON.parse(Buffer.from(jwe.split('.')[0], 'base64url'));
    assert.deepEqual([jwe.split('.').length, alg, enc, kid], [5, 'ECDH-ES', 'A256GCM', 'enc-1']);
  }
});

test('RFC 7592: the owner reads, replaces and deletes the registration', async () => {
  const client = (await register(await createToken('--approved'), { client_name: 'Second shop', client_uri: 'https://second.example/' })).clientMetadata();
  const send = async (method, token, body) => {
    const response = await fetch(client.registration_client_uri, {
      method, headers: { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) }, body: body && JSON.stringify(body),
    });
    return { status: response.status, body: response.status === 204 ? null : await response.json() };
  };
  const read = await send('GET', client.registration_access_token);
  assert.deepEqual([read.status, read.body.client_id, read.body.client_secret], [200, client.client_id, undefined]);
  const replaced = await send('PUT', client.registration_access_token, { ...read.body, client_name: 'Another shop' });
  assert.deepEqual([replaced.status, replaced.body.client_name, replaced.body.registration_status], [200, 'Another shop', 'approved']);
  assert.equal((await send('GET', client.registration_access_token)).status, 401);
  assert.equal((await send('DELETE', replaced.body.registration_access_token)).status, 204);
  assert.equal((await send('GET', replaced.body.registration_access_token)).status, 401);
});

test('an operator approves, exports and removes by the commands', async () => {
  const client = await register(await createToken(), { client_name: 'Third shop', client_uri: 'https://third.example/' });
  const { client_id: id, registration_status: status } = client.clientMetadata();
  assert.equal(status, 'pending');
  await assert.rejects(signsIn(client));
  const listed = new RegExp(`pending +${id}\\n +fingerprint: (\\w+)\\n +names: "Third shop" \\(en\\)\\n +authentication: client_secret_basic`).exec(await clients('list'));
  assert.ok(listed);
  const approval = ['approve', id, '--fingerprint', listed[1], '--reason', 'ticket 4711'];
  await assert.rejects(clients('approve', id, '--fingerprint', '0000', '--reason', 'ticket 4711'), /changed it since/);
  await clients(...approval);
  assert.equal((await signsIn(client)).family_name, 'DUBOIS');
  const file = await clients('export', id);
  assert.match(file, new RegExp(`client_id = "${id}"`));
  assert.ok(!file.includes(client.clientMetadata().client_secret));
  await clients('remove', id, '--reason', 'ticket 4711');
  await assert.rejects(signsIn(client));
  await assert.rejects(clients(...approval), /no registration/);
});
