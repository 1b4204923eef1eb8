// private_key_jwt as ordinary client libraries do it unasked: openid-client (Node), pyoidc and idpyoidc (Python). PYTHON names an
// interpreter that has python-sp/requirements.txt (tests/install makes one).
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { exportJWK, generateKeyPair } from 'jose';
import * as oidc from 'openid-client';
import { startFederation } from './federation.mjs';

const JWT_BEARER = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
const python = process.env.PYTHON ?? 'python3';
const program = path.join(path.dirname(fileURLToPath(import.meta.url)), 'python-sp/assertions.py');

let federation, pair;
before(async () => {
  const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true });
  const named = { kid: 'ec-1', use: 'sig', alg: 'ES256' };
  pair = { key: privateKey, jwk: { ...await exportJWK(privateKey), ...named } };
  const published = Object.entries({ ...await exportJWK(publicKey), ...named }).map(([name, value]) => `${name} = "${value}"`).join('\n');
  const keys = `[[jwks.keys]]\n${published}`;
  const signs = 'token_endpoint_auth_method = "private_key_jwt"';
  const plain = { secret: undefined, scopes: ['openid', 'profile'] };
  federation = await startFederation('hub-assertions', {
    plain: { ...plain, extra: `rules = "openid"\n${signs}\n${keys}` },
    strict: { secret: undefined, extra: `${signs}\n${keys}` },
    listed: { secret: undefined, extra: `${signs}\nclient_assertion_audiences = ["issuer", "token_endpoint"]\n${keys}` },
  });
});
after(() => federation?.stop());

/** Two assertions of each library: { pyoidc: […], idpyoidc: […] }. */
function signedByPython(clientId) {
  const child = spawn(python, ['-B', program], { stdio: ['pipe', 'pipe', 'pipe'] });
  const said = { out: '', err: '' };
  child.stdout.on('data', (chunk) => { said.out += chunk; });
  child.stderr.on('data', (chunk) => { said.err += chunk; });
  child.stdin.end(JSON.stringify({ client_id: clientId, issuer: federation.hub.issuer, key: pair.jwk }));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (status) => (status === 0 ? resolve(JSON.parse(said.out)) : reject(new Error(said.err))));
  });
}

async function post(endpoint, fields) {
  const answer = await fetch(`${federation.hub.issuer}${endpoint}`, { method: 'POST', body: new URLSearchParams(fields) });
  return { status: answer.status, ...await answer.json() };
}

const redeem = (client_assertion) => post('/token', {
  grant_type: 'authorization_code', code: 'none', redirect_uri: 'https://sp.example/', client_assertion_type: JWT_BEARER, client_assertion,
});
const revoke = (client_assertion) => post('/token/revocation', { token: 'none', client_assertion_type: JWT_BEARER, client_assertion });

test('pyoidc and idpyoidc authenticate under openid rules as they are, at token and at revocation', async () => {
  for (const [library, [first, second]] of Object.entries(await signedByPython('plain'))) {
    assert.equal((await redeem(first)).error, 'invalid_grant', `${library}: it is the code that is none`);
    assert.deepEqual(await revoke(second), { status: 200 }, library);
    assert.match((await redeem(first)).error_description, /used before/, library);
  }
});

test('under federation rules the refusal names the setting, and the setting lets the audience pass', async () => {
  for (const [library, [first]] of Object.entries(await signedByPython('strict'))) {
    const refused = await redeem(first);
    assert.deepEqual([refused.status, refused.error], [401, 'invalid_client'], library);
    assert.match(refused.error_description, /client_assertion_audiences/, library);
  }
  // By default both live ten minutes, which the federation's rules don't allow: the next refusal says so.
  for (const [library, [first]] of Object.entries(await signedByPython('listed'))) {
    assert.match((await redeem(first)).error_description, /five minutes/, library);
  }
});

test('openid-client authenticates under openid rules and under the federation\'s', async () => {
  for (const id of ['plain', 'strict', 'listed']) {
    const client = await oidc.discovery(
      new URL(`${federation.hub.issuer}/.well-known/openid-configuration`), id, undefined, oidc.PrivateKeyJwt(pair),
      { execute: [oidc.allowInsecureRequests] },
    );
    await oidc.tokenRevocation(client, 'none');
  }
});
