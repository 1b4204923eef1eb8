// Introspection (RFC 7662, RFC 9701) by a data provider with npm openid-client, and revocation (RFC 7009) by a service provider, on
// both platforms. A data provider in Python verifies the signed responses.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { exportJWK, generateKeyPair } from 'jose';
import * as oidc from 'openid-client';
import { DATA_PROVIDER_SECRET, dataProviderFiles, discoverHub, introspectionEncryption, redeemCode, buildAuthorizationRequest, responseEncryption, startFederation, fetchUserinfo } from './federation.mjs';
import { Browser, signIn } from './harness.mjs';

const SIGNED = 'introspection_signed_response_alg = "ES256"';

async function keyPair(alg, kid) {
  const { publicKey, privateKey } = await generateKeyPair(alg, { crv: 'P-256', extractable: true });
  return { privateKey, jwk: { ...await exportJWK(publicKey), kid, use: 'enc', alg } };
}

/** The data provider's library, after discovery. */
const library = ({ hub }, id, metadata = {}) => oidc.discovery(
  new URL(`${hub.issuer}/.well-known/openid-configuration`), id, metadata, oidc.ClientSecretPost(DATA_PROVIDER_SECRET),
  { execute: [oidc.allowInsecureRequests, oidc.enableNonRepudiationChecks] },
);

/** An access token of this service provider, by a whole login. */
async function accessToken({ hub }, sp, acr = 'eidas1') {
  const authorization = await buildAuthorizationRequest(await discoverHub(hub, sp), sp, { acr_values: acr });
  const redirect = new URL(await signIn(new Browser(), authorization.url, { stopAt: sp.redirectUri, acr }));
  const answer = await redeemCode(hub, sp, { code: redirect.searchParams.get('code'), code_verifier: authorization.verifier });
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  return answer.body.access_token;
}

/** Asserts that the response has exactly the claims that the hub may release of an active token of Angela. */
function assertActiveClaims(facts, { hub, id, sp, acr }) {
  const { sub, iat, exp, ...rest } = facts;
  assert.deepEqual(rest, {
    active: true, iss: hub.issuer, aud: id, client_id: sp.id, scope: 'openid family_name birthdate', acr,
    family_name: 'DUBOIS', birthdate: '1962-08-24',
  });
  assert.ok(sub && Number.isInteger(iat) && exp - iat === 60);
  return sub;
}

test('R012 R180 R181 R184 R185 R206: on standard, a real library introspects in JSON and by signed JWTs', async (t) => {
  const encryptionKey = await keyPair('ECDH-ES', 'court-1');
  const files = dataProviderFiles({ archive: '', notary: SIGNED, court: `${SIGNED}\n${introspectionEncryption('ECDH-ES', [encryptionKey.jwk])}` });
  const federation = await startFederation('hub-introspection', {}, { files });
  t.after(() => federation.stop());
  const { hub, sp } = federation;
  const archive = await library(federation, 'archive');
  assert.deepEqual(archive.serverMetadata().introspection_endpoint_auth_methods_supported, ['client_secret_post']);
  const notary = await library(federation, 'notary', { introspection_signed_response_alg: 'ES256' });
  const court = await library(federation, 'court', { introspection_signed_response_alg: 'ES256' });
  oidc.enableDecryptingResponses(court, ['A256GCM'], { key: encryptionKey.privateKey, alg: 'ECDH-ES', kid: 'court-1' });
  const token = await accessToken(federation, sp);
  const subs = [];
  for (const [id, its] of Object.entries({ archive, notary, court })) {
    subs.push(assertActiveClaims(await oidc.tokenIntrospection(its, token), { hub, id, sp, acr: 'eidas1' }));
    assert.deepEqual(await oidc.tokenIntrospection(its, token.slice(1)), { active: false }, id);
    assert.deepEqual(await oidc.tokenIntrospection(its, token, { token_type_hint: 'refresh_token' }).then((facts) => facts.active), true);
  }
  assert.equal(new Set(subs).size, 3, 'each data provider has its own sub');

  for (const [id, secret] of [['archive', 'wrong'], ['stranger', DATA_PROVIDER_SECRET], [sp.id, sp.secret]]) {
    const form = new URLSearchParams({ client_id: id, client_secret: secret, token });
    const answer = await fetch(`${hub.issuer}/checktoken`, { method: 'POST', body: form });
    assert.equal(answer.status, 401);
    assert.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8');
    assert.equal(await answer.text(), '{"error":"invalid_client","error_description":"Client authentication failed."}');
  }
});

test('RFC 7009: a real library has a token revoked, and no one accepts it any more', async (t) => {
  const federation = await startFederation('hub-revocation', {}, { files: dataProviderFiles({ archive: '' }) });
  t.after(() => federation.stop());
  const { hub, sp, other } = federation;
  const [token, archive] = [await accessToken(federation, sp), await library(federation, 'archive')];
  await oidc.tokenRevocation(await discoverHub(hub, other), token);
  assert.equal((await oidc.tokenIntrospection(archive, token)).active, true, 'only the client of a token revokes it');
  const client = await discoverHub(hub, sp);
  await oidc.tokenRevocation(client, token, { token_type_hint: 'access_token' });
  assert.deepEqual(await oidc.tokenIntrospection(archive, token), { active: false });
  assert.equal((await fetchUserinfo(hub, token)).status, 401);
  await oidc.tokenRevocation(client, token);
  const stranger = await discoverHub(hub, { ...sp, secret: 'wrong' });
  await assert.rejects(oidc.tokenRevocation(stranger, token), { error: 'invalid_client', status: 401 });
});

test('R002 R012 R184 R185: on high, a real library reads the level achieved, and a token is revoked', async (t) => {
  const encryptionKey = await keyPair('ECDH-ES', 'vault-1');
  const federation = await startFederation('hub-introspection-high', { vault: { extra: responseEncryption('ECDH-ES', [encryptionKey.jwk]) } },
    { platform: 'high', amr: ['pin', 'hwk'], files: dataProviderFiles({ archive: '', notary: SIGNED }) });
  t.after(() => federation.stop());
  const { hub } = federation;
  const sp = federation.sps.vault;
  const archive = await library(federation, 'archive');
  const notary = await library(federation, 'notary', { introspection_signed_response_alg: 'ES256' });
  for (const acr of ['eidas2', 'eidas3']) {
    const token = await accessToken(federation, sp, acr);
    assertActiveClaims(await oidc.tokenIntrospection(archive, token), { hub, id: 'archive', sp, acr });
    assertActiveClaims(await oidc.tokenIntrospection(notary, token), { hub, id: 'notary', sp, acr });
    await oidc.tokenRevocation(await discoverHub(hub, sp), token);
    assert.deepEqual(await oidc.tokenIntrospection(notary, token), { active: false });
  }
});

const python = process.env.PYTHON ?? 'python3';
const folderOfPython = path.join(path.dirname(fileURLToPath(import.meta.url)), 'python-sp');

/** Runs one of the Python programs: { status, out, err }. */
function run(program, args, input = '') {
  const child = spawn(python, ['-B', path.join(folderOfPython, program), ...args], { stdio: ['pipe', 'pipe', 'pipe'] });
  const output = { out: '', err: '' };
  child.stdout.on('data', (chunk) => { output.out += chunk; });
  child.stderr.on('data', (chunk) => { output.err += chunk; });
  child.stdin.end(input);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (status) => resolve({ status, ...output }));
  });
}

test('R012 R184 R185: Python verifies the signed answers of RFC 9701 and opens the encrypted ones', async (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'passerelle-python-dp-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const keys = path.join(folder, 'private.json');
  const made = await run('sp.py', ['keys', keys, 'RSA-OAEP-256']);
  assert.equal(made.status, 0, made.err);
  const files = dataProviderFiles({ notary: SIGNED, court: `${SIGNED}\n${introspectionEncryption('RSA-OAEP-256', JSON.parse(made.out).keys)}` });
  const federation = await startFederation('hub-python-dp', {}, { files });
  t.after(() => federation.stop());
  const { hub, sp } = federation;
  const token = await accessToken(federation, sp);
  const asked = (id, more) => run('dp.py', [], JSON.stringify({ issuer: hub.issuer, client_id: id, client_secret: DATA_PROVIDER_SECRET, token, ...more }));
  for (const [id, more] of [['notary', {}], ['court', { encryption_alg: 'RSA-OAEP-256', keys }]]) {
    const live = await asked(id, more);
    assert.equal(live.status, 0, live.err);
    assertActiveClaims(JSON.parse(live.out), { hub, id, sp, acr: 'eidas1' });
    const dead = await asked(id, { ...more, token: 'guess' });
    assert.equal(dead.status, 0, dead.err);
    assert.deepEqual(JSON.parse(dead.out), { active: false });
  }

  // The program fails if the response differs from the registration.
  for (const [id, more, rule] of [
    ['notary', { signing_alg: 'RS256' }, /registered alg/],
    ['notary', { encryption_alg: 'RSA-OAEP-256', keys }, /is encrypted/],
    ['court', {}, /exactly one JWS/],
  ]) {
    const { status, err } = await asked(id, more);
    assert.notEqual(status, 0, id);
    assert.match(err, rule);
  }
});
