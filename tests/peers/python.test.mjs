// A service provider in another language, with another JOSE library: python-sp/ signs in at the hub by itself, and says
// what it read. PYTHON names an interpreter that has python-sp/requirements.txt (tests/install makes one).
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { responseEncryption, startFederation } from './federation.mjs';

const python = process.env.PYTHON ?? 'python3';
const program = path.join(path.dirname(fileURLToPath(import.meta.url)), 'python-sp/sp.py');

/** Runs the service provider: { status, out, err }. Not synchronous: the identity provider lives in this process. */
function run(args, input = '') {
  const child = spawn(python, ['-B', program, ...args], { stdio: ['pipe', 'pipe', 'pipe'] });
  const said = { out: '', err: '' };
  child.stdout.on('data', (chunk) => { said.out += chunk; });
  child.stderr.on('data', (chunk) => { said.err += chunk; });
  child.stdin.end(input);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (status) => resolve({ status, ...said }));
  });
}

/** What the service provider was registered with, for its standard input. */
const registration = ({ hub }, sp, more) => JSON.stringify({
  issuer: hub.issuer, client_id: sp.id, client_secret: sp.secret, redirect_uri: sp.redirectUri,
  provider: 'real', login: 'angela', acr: 'eidas1', ...more,
});

async function signIn(federation, sp, more = {}) {
  const { status, out, err } = await run(['login'], registration(federation, sp, more));
  assert.equal(status, 0, err);
  return JSON.parse(out);
}

const ANGELA = {
  given_name: 'Angela Claire Louise', given_name_array: ['Angela', 'Claire', 'Louise'], family_name: 'DUBOIS',
  birthdate: '1962-08-24', gender: 'female', birthplace: '75107', birthcountry: '99100', email: 'angela@example.org',
  preferred_username: 'Angie',
};

/** The claims of both tokens, as the specification lists them. */
function assertReceived({ id_token: id, userinfo }, { acr, amr }) {
  assert.deepEqual(Object.keys(id.header).sort(), ['alg', 'kid', 'typ']);
  assert.deepEqual(Object.keys(id.claims).sort(), ['acr', 'amr', 'aud', 'auth_time', 'exp', 'iat', 'iss', 'nonce', 'sub']);
  assert.equal(id.claims.acr, acr);
  assert.deepEqual([...id.claims.amr].sort(), amr);
  const { iss, aud, exp, iat, sub, ...person } = userinfo.claims;
  assert.deepEqual(person, ANGELA);
}

test('R004 R006 R030-R039 R050-R054 R156: on standard, Python reads a signed ID token and signed userinfo', async (t) => {
  const federation = await startFederation('hub-python');
  t.after(() => federation.stop());
  const received = await signIn(federation, federation.sp);
  assertReceived(received, { acr: 'eidas1', amr: ['hub', 'pwd'] });
  assert.deepEqual([received.id_token.jwe_header, received.userinfo.jwe_header], [null, null]);

  // It does check: what was registered otherwise is refused.
  for (const [wrong, rule] of [[{ signing_alg: 'RS256' }, /registered alg/], [{ encryption_alg: 'ECDH-ES' }, /is encrypted/]]) {
    const { status, err } = await run(['login'], registration(federation, federation.sp, wrong));
    assert.notEqual(status, 0);
    assert.match(err, rule);
  }
});

const ALGS = ['ECDH-ES', 'RSA-OAEP-256', 'RSA-OAEP'];

test('R005 R007 R038 R041 R042 R156: on high, Python opens both tokens with its own keys', async (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'passerelle-python-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const keys = path.join(folder, 'private.json');
  const made = await run(['keys', keys, ...ALGS]);
  assert.equal(made.status, 0, made.err);
  const files = ALGS.map((alg) => [alg.toLowerCase(), { extra: responseEncryption(alg, JSON.parse(made.out).keys) }]);
  const federation = await startFederation('hub-python-high', Object.fromEntries(files), { platform: 'high', amr: ['pin', 'hwk'] });
  t.after(() => federation.stop());
  for (const encryption_alg of ALGS) {
    const sp = federation.sps[encryption_alg.toLowerCase()];
    for (const acr of ['eidas2', 'eidas3']) {
      const received = await signIn(federation, sp, { keys, encryption_alg, acr });
      assertReceived(received, { acr, amr: ['hub', 'hwk', 'mfa', 'pin', 'pop'] });
      for (const { jwe_header: header } of [received.id_token, received.userinfo]) {
        const { epk, ...rest } = header;
        assert.deepEqual(rest, { alg: encryption_alg, enc: 'A256GCM', cty: 'JWT', kid: `python-${encryption_alg}` });
      }
    }
  }

  // It does check: what was registered otherwise is refused.
  const strangers = path.join(folder, 'strangers.json');
  assert.equal((await run(['keys', strangers, ...ALGS])).status, 0);
  for (const [wrong, rule] of [
    [{ encryption_alg: undefined }, /exactly one JWS inside/],
    [{ encryption_alg: 'RSA-OAEP-256' }, /the JWE has the registered alg/],
    [{ signing_alg: 'RS256' }, /the JWS has the registered alg/],
    [{ keys: strangers }, /InvalidJWEData/],
  ]) {
    const more = { keys, acr: 'eidas2', encryption_alg: 'ECDH-ES', ...wrong };
    const { status, err } = await run(['login'], registration(federation, federation.sps['ecdh-es'], more));
    assert.notEqual(status, 0, String(rule));
    assert.match(err, rule);
  }
});
