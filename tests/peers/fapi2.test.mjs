// FAPI 2.0 towards identity providers: npm oidc-provider as a FAPI 2.0 server (PAR, private_key_jwt, DPoP with nonces, request objects,
// signed and encrypted responses), and with client certificates over TLS connections of its own (RFC 8705).
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { createPublicKey } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import * as oidc from 'openid-client';
import { discoverHub, buildAuthorizationRequest, startFederation } from './federation.mjs';
import { Browser, IDP_CLIENT, freePorts, program, signIn, tomlString } from './harness.mjs';

const folder = mkdtempSync(path.join(tmpdir(), 'passerelle-fapi2-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const PROFILE = 'fapi2 = true\npushed_authorization_requests = "on"';
const FAPI = { fapi: { enabled: true, profile: '2.0' }, pushedAuthorizationRequests: { enabled: true, requirePushedAuthorizationRequests: true } };

/** Signs in at the hub and fetches userinfo; returns the addresses that the browser was led to. */
async function login(federation) {
  const { hub, sp } = federation;
  const client = await discoverHub(hub, sp);
  const { url, state, nonce, verifier } = await buildAuthorizationRequest(client, sp);
  const browser = new Browser();
  const seen = [];
  const step = browser.step.bind(browser);
  browser.step = (address, options) => { seen.push(address); return step(address, options); };
  const redirect = await signIn(browser, url, { stopAt: sp.redirectUri });
  const tokens = await oidc.authorizationCodeGrant(client, new URL(redirect), { pkceCodeVerifier: verifier, expectedState: state, expectedNonce: nonce });
  const person = await oidc.fetchUserInfo(client, tokens.access_token, tokens.claims().sub);
  assert.equal(person.family_name, 'DUBOIS');
  return seen;
}

const names = (seen, start) => seen.filter((url) => url.startsWith(start)).map((url) => [...new URL(url).searchParams.keys()].sort());
const claims = (jwt) => JSON.parse(Buffer.from(jwt.split('.')[1], 'base64url'));
/** What the check of the connector's file says. Not synchronous: the identity provider answers in this process. */
async function check(federation) {
  const { folder: config } = federation.hub;
  const run = spawn(program, ['check', 'connector', path.join(config, 'connectors/real.toml'), '--config', config, '--online']);
  const output = [];
  for (const stream of [run.stdout, run.stderr]) stream.on('data', (chunk) => output.push(chunk));
  await new Promise((resolve) => { run.on('close', resolve); });
  return Buffer.concat(output).toString();
}

test('FAPI 2.0 with message signing: DPoP with nonces, private_key_jwt, a signed pushed request, an encrypted answer', async () => {
  const federation = await startFederation('hub-fapi2-dpop', {}, {
    connectorSecret: '',
    connector: `${PROFILE}
token_endpoint_auth_method = "private_key_jwt"
dpop = "on"
request_objects = "on"
authorization_signed_response_alg = "ES256"
authorization_encrypted_response_alg = "ECDH-ES"`,
    features: {
      ...FAPI, requestObjects: { enabled: true }, jwtResponseModes: { enabled: true },
      dPoP: { enabled: true, nonceSecret: Buffer.alloc(32, 7), requireNonce: () => true },
    },
    client: (port) => ({
      client_secret: undefined, token_endpoint_auth_method: 'private_key_jwt', token_endpoint_auth_signing_alg: 'ES256', dpop_bound_access_tokens: true,
      require_signed_request_object: true, request_object_signing_alg: 'ES256', authorization_signed_response_alg: 'ES256',
      authorization_encrypted_response_alg: 'ECDH-ES', authorization_encrypted_response_enc: 'A256GCM', jwks_uri: `http://localhost:${port}/api/v2/client/jwks`,
    }),
  });
  try {
    const { idp, hub } = federation;
    const seen = await login(federation);
    assert.deepEqual(names(seen, `${idp.issuer}/auth?`), [['client_id', 'request_uri']]);
    assert.deepEqual(names(seen, `${hub.issuer}/callback/real?`), [['response']]);
    assert.equal(new URL(seen.find((url) => url.startsWith(`${hub.issuer}/callback/real?`))).searchParams.get('response').split('.').length, 5);
    const called = (endpoint) => idp.answers.filter((answer) => answer.path === endpoint && answer.status === 200);
    const [token, userinfo] = [called('/token').at(-1), called('/me').at(-1)];
    assert.equal(token.body.token_type, 'DPoP');
    assert.equal(claims(token.form.client_assertion).aud, idp.issuer);
    assert.match(userinfo.authorization, /^DPoP /);
    assert.ok(claims(userinfo.dpop).nonce && claims(userinfo.dpop).ath);
    // A second login of the same browser's kind: another key, and a nonce at once.
    await login(federation);
    const again = called('/token').at(-1);
    const key = (proof) => JSON.parse(Buffer.from(proof.split('.')[0], 'base64url')).jwk.x;
    assert.notEqual(key(again.dpop), key(token.dpop));
    // Two logins in one browser, of which the encrypted answer must find its own.
    const client = await discoverHub(hub, federation.sp);
    const browser = new Browser();
    await browser.open((await buildAuthorizationRequest(client, federation.sp)).url);
    const { url } = await buildAuthorizationRequest(client, federation.sp);
    assert.match(await signIn(browser, url, { stopAt: federation.sp.redirectUri }), /code=/);
    assert.match(await check(federation), /accepts the hub's client authentication/);
    assert.deepEqual(idp.faults.filter(({ error }) => error !== 'use_dpop_nonce'), []);
  } finally {
    await federation.stop();
  }
});

const openssl = (...args) => execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });
const file = (name) => readFileSync(path.join(folder, name), 'utf8');
const EC = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];

function selfSigned(name, ...more) {
  openssl('req', '-x509', ...EC, '-keyout', `${name}.key`, '-out', `${name}.crt`, '-subj', `/CN=${name}`, '-days', '2', ...more);
}

function issued(name, usage = 'clientAuth') {
  openssl('req', '-new', ...EC, '-keyout', `${name}.key`, '-out', `${name}.csr`, '-subj', `/CN=${name}`);
  writeFileSync(path.join(folder, `${name}.ext`), `subjectAltName=DNS:${name}\nextendedKeyUsage=${usage}\n`);
  openssl('x509', '-req', '-in', `${name}.csr`, '-CA', 'ca.crt', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '2', '-extfile', `${name}.ext`, '-out', `${name}.crt`);
}

/** A federation whose identity provider asks for the hub's certificate on a port of its own. */
async function withCertificate(name, method, certificate, client) {
  const [port] = await freePorts(1);
  const base = `https://localhost:${port}`;
  const federation = await startFederation(name, {}, {
    connectorSecret: 'client_certificate = { file = "secrets/connectors/real/hub.crt" }\nclient_key = { file = "secrets/connectors/real/hub.key" }',
    connector: `${PROFILE}\ntoken_endpoint_auth_method = ${tomlString(method)}\ntls_client_certificate_bound_access_tokens = "on"\nca = "idp-ca.pem"`,
    files: {
      'idp-ca.pem': file('ca.crt'), 'secrets/connectors/real/hub.crt': file(`${certificate}.crt`), 'secrets/connectors/real/hub.key': file(`${certificate}.key`),
    },
    features: {
      ...FAPI,
      mTLS: {
        enabled: true, certificateBoundAccessTokens: true, selfSignedTlsClientAuth: true, tlsClientAuth: true,
        getCertificate: (ctx) => ctx.socket.getPeerX509Certificate?.(),
        certificateAuthorized: (ctx) => ctx.socket.authorized === true,
        certificateSubjectMatches: (ctx, property, expected) => property === 'tls_client_auth_san_dns' && ctx.socket.getPeerX509Certificate().subjectAltName === `DNS:${expected}`,
      },
    },
    client: { client_secret: undefined, token_endpoint_auth_method: method, tls_client_certificate_bound_access_tokens: true, ...client },
    idpOptions: {
      mutualTls: { port, key: file('localhost.key'), cert: file('localhost.crt'), ca: [file('ca.crt')] },
      configuration: {
        discovery: { mtls_endpoint_aliases: { token_endpoint: `${base}/token`, userinfo_endpoint: `${base}/me`, pushed_authorization_request_endpoint: `${base}/request` } },
      },
    },
  });
  return federation;
}

test('RFC 8705: a certificate authenticates the hub at the aliases, its tokens are bound to it, and a new file takes over', async () => {
  selfSigned('ca', '-addext', 'basicConstraints=critical,CA:TRUE');
  issued('localhost', 'serverAuth');
  issued('hub.example.org');
  selfSigned('stranger', '-addext', 'subjectAltName=DNS:hub.example.org');
  const federation = await withCertificate('hub-fapi2-tls', 'tls_client_auth', 'hub.example.org', { tls_client_auth_san_dns: 'hub.example.org' });
  try {
    const { idp, hub } = federation;
    const seen = await login(federation);
    assert.deepEqual(names(seen, `${idp.issuer}/auth?`), [['client_id', 'request_uri']]);
    const called = (endpoint) => idp.answers.filter((answer) => answer.path === endpoint && answer.status === 200).at(-1);
    assert.equal(called('/token').certificate, 'CN=hub.example.org');
    assert.equal(called('/token').form.client_id, IDP_CLIENT);
    assert.ok(!called('/token').form.client_assertion && !called('/token').form.client_secret);
    assert.equal(called('/me').certificate, 'CN=hub.example.org');
    // A stolen token without the certificate.
    const token = called('/me').authorization.split(' ')[1];
    assert.equal((await fetch(`${idp.issuer}/me`, { headers: { authorization: `Bearer ${token}` } })).status, 401);
    assert.match(await check(federation), /accepts the hub's client authentication/);
    // A certificate that another authority issued under the same name is refused; the hub reads the new files by itself.
    const put = (name) => {
      for (const kind of ['key', 'crt']) writeFileSync(path.join(hub.folder, `secrets/connectors/real/hub.${kind}`), file(`${name}.${kind}`));
    };
    const outcome = () => login(federation).then(() => true, () => false);
    const becomes = async (expected) => {
      for (let tries = 0; await outcome() !== expected; tries += 1) {
        assert.ok(tries < 40, `still ${!expected}`);
        await new Promise((resolve) => { setTimeout(resolve, 250); });
      }
    };
    put('stranger');
    await becomes(false);
    put('hub.example.org');
    await becomes(true);
  } finally {
    await federation.stop();
  }
});

test('RFC 8705: a certificate of the hub\'s own is known by its key', async () => {
  selfSigned('own');
  const { x, y } = createPublicKey(file('own.crt')).export({ format: 'jwk' });
  const x5c = [openssl('x509', '-in', 'own.crt', '-outform', 'DER').toString('base64')];
  const federation = await withCertificate('hub-fapi2-self', 'self_signed_tls_client_auth', 'own', { jwks: { keys: [{ kty: 'EC', crv: 'P-256', use: 'sig', x, y, x5c }] } });
  try {
    await login(federation);
    assert.equal(federation.idp.answers.find((answer) => answer.path === '/token' && answer.status === 200).certificate, 'CN=own');
  } finally {
    await federation.stop();
  }
});
