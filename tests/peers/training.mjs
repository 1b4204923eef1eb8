// The load that `packaging/profile` records: complete logins of real clients on both platforms and with both stores.
//
//   node tests/peers/training.mjs [LOGINS]     HUB_BIN names the program; LOGINS at each of the three hubs
//
// The exit code is 1 if a login doesn't complete. Needs redis-server.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { exportJWK, generateKeyPair } from 'jose';
import { discoverHub, redeemCode, buildAuthorizationRequest, responseEncryption, startFederation, fetchUserinfo } from './federation.mjs';
import { Browser, freePorts, random, signIn } from './harness.mjs';

const logins = Number(process.argv[2] ?? 500);
const CONCURRENCY = 8;
/** A confined program can't write its profile. */
const SETTINGS = '[process]\nconfinement = "off"\n[log]\nformat = "json"\n';

async function signInOnce({ hub, sp }, client, acr) {
  const authorization = await buildAuthorizationRequest(client, sp, { acr_values: acr });
  const redirect = new URL(await signIn(new Browser(), authorization.url, { stopAt: sp.redirectUri }));
  const tokens = await redeemCode(hub, sp, { code: redirect.searchParams.get('code'), code_verifier: authorization.verifier });
  assert.equal(tokens.status, 200, JSON.stringify(tokens.body));
  const answer = await fetchUserinfo(hub, tokens.body.access_token);
  assert.equal(answer.status, 200);
  await answer.text();
}

async function train(name, acr, serviceProviders, options) {
  const federation = await startFederation(`training-${name}`, serviceProviders, { ...options, settings: `${options.settings ?? ''}${SETTINGS}` });
  try {
    const { hub, sps } = federation;
    const trained = { hub, sp: Object.values(sps)[0] };
    const client = await discoverHub(hub, trained.sp);
    let left = logins;
    await Promise.all(Array.from({ length: CONCURRENCY }, async () => {
      while (left-- > 0) await signInOnce(trained, client, acr);
    }));
    console.log(`${name}: ${logins} logins`);
  } finally {
    await federation.stop();
  }
}

const folder = mkdtempSync(path.join(tmpdir(), 'training-'));
const [port] = await freePorts(1);
const redis = spawn('redis-server', ['--port', port, '--bind', '127.0.0.1', '--save', '', '--dir', folder, '--maxmemory-policy', 'noeviction'].map(String), { stdio: 'ignore' });
try {
  const { publicKey } = await generateKeyPair('ECDH-ES', { crv: 'P-256', extractable: true });
  const key = { ...await exportJWK(publicKey), kid: 'training', use: 'enc', alg: 'ECDH-ES' };
  await train('standard', 'eidas1', {}, {});
  await train('high', 'eidas2', { town: { extra: responseEncryption('ECDH-ES', [key]) } }, { platform: 'high', amr: ['pwd', 'otp'] });
  await train('redis', 'eidas1', {}, {
    settings: `store.redis = { nodes = ["127.0.0.1:${port}"], encryption_keys = [{ file = "store.key" }] }\n`, files: { 'store.key': random(48) },
  });
} finally {
  redis.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
}
