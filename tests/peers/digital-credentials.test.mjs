// The Digital Credentials API: a real Chromium on the hub's page, whose navigator.credentials.get is that of a scripted wallet
// (OpenID4VP 1.0 appendix A). The wallet checks the request as a wallet must, and presents an SD-JWT VC made with jose.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash, randomBytes, X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import * as jose from 'jose';
import { chromium } from 'playwright-core';
import { discover, redeem, request, userinfo } from './federation.mjs';
import { freePorts, random, startHub } from './harness.mjs';

const FLAGS = ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking'];
const PID = {
  given_name: 'Angela Claire Louise', birth_family_name: 'Dubois', birthdate: '1962-08-24', sex: 2,
  place_of_birth: { locality: 'Paris 7e', country: 'FR' }, personal_administrative_number: '2620875107001', issuing_country: 'FR',
};
const CONNECTOR = `name = { en = "Wallet" }
identity = "verified"
levels = { lowest = "eidas1", highest = "eidas3" }
unmapped_claims = "drop"
[mapping]
given_name = { from = "given_name" }
family_name = { from = "birth_family_name" }
birthdate = { from = "birthdate" }
gender = { from = "sex", map = { "1" = "male", "2" = "female" } }
birthplace = { from = "/place_of_birth/locality", map = { "Paris 7e" = "75107" } }
birthcountry = { from = "/place_of_birth/country", map = { FR = "99100" } }
[kind.openid4vp]
certificate = "wallet/access.pem"
private_key = { file = "wallet.secret" }
trust_anchors = "wallet/issuers.pem"
digital_credentials_api = true
subject_claims = ["personal_administrative_number", "issuing_country"]
[[kind.openid4vp.credentials]]
id = "pid"
format = "dc+sd-jwt"
types = ["urn:eudi:pid:1"]
claims = ["given_name", "birth_family_name", "birthdate", "/place_of_birth/locality", "/place_of_birth/country", "sex", "personal_administrative_number", "issuing_country"]
`;

/** An authority and a certificate of it, made by OpenSSL: { anchor, certificate, key } in PEM. */
function certificates(name) {
  const folder = mkdtempSync(path.join(tmpdir(), 'passerelle-certificates-'));
  const file = (part) => path.join(folder, part);
  writeFileSync(file('openssl.cnf'), `[req]\ndistinguished_name = dn\n[dn]\n
[ca]\nbasicConstraints = critical, CA:TRUE\nkeyUsage = critical, keyCertSign\nsubjectKeyIdentifier = hash
[leaf]\nbasicConstraints = critical, CA:FALSE\nkeyUsage = critical, digitalSignature\nsubjectKeyIdentifier = hash\nauthorityKeyIdentifier = keyid\n`);
  const make = (part, extensions, subject, ...more) => execFileSync('openssl', [
    'req', '-x509', '-config', file('openssl.cnf'), '-extensions', extensions, '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256',
    '-nodes', '-days', '30', '-subj', subject, '-keyout', file(`${part}.key`), '-out', file(`${part}.pem`), ...more,
  ], { stdio: 'pipe' });
  make('ca', 'ca', `/C=FR/CN=${name} authority`);
  make('leaf', 'leaf', `/C=FR/CN=${name}`, '-CA', file('ca.pem'), '-CAkey', file('ca.key'));
  const read = (part) => readFileSync(file(part), 'utf8');
  const made = { anchor: read('ca.pem'), certificate: read('leaf.pem'), key: read('leaf.key') };
  rmSync(folder, { recursive: true });
  return made;
}

const digest = (input) => createHash('sha256').update(input).digest('base64url');
const access = certificates('Hub');
const issuer = certificates('PID issuer');

let hub, sp, browser;
before(async () => {
  const [port, privatePort] = await freePorts(2);
  sp = { id: 'alpha', secret: random(32), redirectUri: `http://localhost:${port}/sp/alpha/callback` };
  hub = await startHub('digital-credentials', {
    port, privatePort, connectors: { wallet: CONNECTOR },
    sps: [{ ...sp, redirectUris: [sp.redirectUri], scopes: ['openid', 'profile', 'birth'] }],
    files: { 'wallet/access.pem': access.certificate, 'wallet/issuers.pem': issuer.anchor, 'wallet.secret': access.key },
  });
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: FLAGS });
});
after(async () => {
  await browser?.close();
  await hub?.stop();
});

/** What a wallet does with a signed request that a page of `origin` gave to the browser. Returns `data` of the credential. */
async function answer(compact, origin, { audience = `origin:${origin}` } = {}) {
  const header = jose.decodeProtectedHeader(compact);
  const leaf = new X509Certificate(Buffer.from(header.x5c[0], 'base64'));
  const { payload } = await jose.jwtVerify(compact, leaf.publicKey, { typ: 'oauth-authz-req+jwt', audience: 'https://self-issued.me/v2' });
  assert.equal(payload.client_id, `x509_hash:${digest(leaf.raw)}`);
  assert.equal(payload.response_mode, 'dc_api.jwt');
  if (!payload.expected_origins.includes(origin)) return { error: 'invalid_request' };
  const holder = await jose.generateKeyPair('ES256');
  const wanted = new Set(payload.dcql_query.credentials[0].claims.map((claim) => claim.path[0]));
  const disclosures = [...wanted].map((name) => Buffer.from(JSON.stringify([randomBytes(16).toString('base64url'), name, PID[name]])).toString('base64url'));
  const now = Math.floor(Date.now() / 1000);
  const credential = await new jose.SignJWT({
    vct: 'urn:eudi:pid:1', iat: now - 60, exp: now + 3600, _sd_alg: 'sha-256', _sd: disclosures.map(digest),
    cnf: { jwk: await jose.exportJWK(holder.publicKey) },
  }).setProtectedHeader({ alg: 'ES256', typ: 'dc+sd-jwt', x5c: [new X509Certificate(issuer.certificate).raw.toString('base64')] })
    .sign(await jose.importPKCS8(issuer.key, 'ES256'));
  const sdJwt = [credential, ...disclosures, ''].join('~');
  const binding = await new jose.SignJWT({ aud: audience, nonce: payload.nonce, iat: now, sd_hash: digest(sdJwt) })
    .setProtectedHeader({ alg: 'ES256', typ: 'kb+jwt' }).sign(holder.privateKey);
  const key = payload.client_metadata.jwks.keys[0];
  const plain = Buffer.from(JSON.stringify({ vp_token: { pid: [sdJwt + binding] } }));
  const response = await new jose.CompactEncrypt(plain).setProtectedHeader({ alg: key.alg, enc: 'A256GCM', kid: key.kid })
    .encrypt(await jose.importJWK(key, 'ECDH-ES'));
  return { response };
}

/** A browser at the wallet page of a login. `options` as for `answer`. */
async function atWalletPage(options) {
  const context = await browser.newContext({ locale: 'en-GB' });
  const page = await context.newPage();
  await page.exposeFunction('walletAnswer', (compact, origin) => answer(compact, origin, options));
  await page.addInitScript(() => {
    window.DigitalCredential = class {};
    navigator.credentials.get = async ({ digital }) => {
      const [{ protocol, data }] = digital.requests;
      return { protocol, data: await window.walletAnswer(data.request, location.origin) };
    };
  });
  const asked = await request(await discover(hub, sp), sp, { scope: 'openid profile birth' });
  await page.goto(asked.url);
  await page.locator('form[action$="/provider"] button[value=wallet]').click();
  await page.locator('#digital-credential button').waitFor();
  return { context, page, asked };
}

test('a credential that the browser got from the wallet signs its user in', async () => {
  const { context, page, asked } = await atWalletPage();
  await page.locator('#digital-credential button').click();
  await page.locator('form[action$="/consent"] button[value=yes]').click();
  await page.waitForURL(`${sp.redirectUri}**`);
  const code = new URL(page.url()).searchParams.get('code');
  const { body } = await redeem(hub, sp, { code, code_verifier: asked.verifier });
  const claims = jose.decodeJwt(await (await userinfo(hub, body.access_token)).text());
  assert.deepEqual([claims.family_name, claims.birthdate], ['DUBOIS', '1962-08-24']);
  await context.close();
});

test('a presentation for another origin, as a page that forwards the request gets, is refused', async () => {
  const { context, page } = await atWalletPage({ audience: 'origin:https://evil.example' });
  await page.locator('#digital-credential button').click();
  await page.getByText('Y020510').first().waitFor();
  await context.close();
});
