// Tests of client certificates through a real proxy: authentication, bound tokens, a forged header, and a certificate that anyone
// can make.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createPublicKey } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import https from 'node:https';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { discoverHub, buildAuthorizationRequest, startFederation } from './federation.mjs';
import { Browser, freePorts, signIn, tomlString } from './harness.mjs';

/**
 * Runs the tests. `startProxy({ folder, tlsPort, hubPort })` returns the process of a proxy that listens on `tlsPort` with localhost.crt
 * and localhost.key of the folder (login.pem has both), and whose authority for certificates of clients is ca.crt.
 */
export function testClientCertificates(startProxy, options = {}) {
  const folder = mkdtempSync(path.join(tmpdir(), 'passerelle-certificates-'));
  const at = (name) => path.join(folder, name);
  const openssl = (...args) => execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });
  const EC = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];

  /** A certificate of its own, { key, cert }. */
  function selfSigned(name, ...more) {
    openssl('req', '-x509', ...EC, '-keyout', `${name}.key`, '-out', `${name}.crt`, '-subj', `/CN=${name}`, '-days', '2', ...more);
    return { key: readFileSync(at(`${name}.key`)), cert: readFileSync(at(`${name}.crt`)) };
  }

  /** A certificate of the authority for this DNS name. */
  function issued(name) {
    openssl('req', '-new', ...EC, '-keyout', `${name}.key`, '-out', `${name}.csr`, '-subj', `/CN=${name}`);
    writeFileSync(at(`${name}.ext`), `subjectAltName=DNS:${name}\nextendedKeyUsage=clientAuth\n`);
    openssl('x509', '-req', '-in', `${name}.csr`, '-CA', 'ca.crt', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '2', '-extfile', `${name}.ext`, '-out', `${name}.crt`);
    return { key: readFileSync(at(`${name}.key`)), cert: readFileSync(at(`${name}.crt`)) };
  }

  let federation, proxy, tlsPort, shop, stranger, kiosk;
  before(async () => {
    if (options.skip) return;
    selfSigned('ca', '-addext', 'basicConstraints=critical,CA:TRUE');
    selfSigned('localhost', '-addext', 'subjectAltName=DNS:localhost');
    shop = issued('shop.example.org');
    stranger = selfSigned('shop.example.org.forged', '-addext', 'subjectAltName=DNS:shop.example.org');
    [tlsPort] = await freePorts(1);
    kiosk = selfSigned('kiosk');
    const der = openssl('x509', '-in', 'kiosk.crt', '-outform', 'DER').toString('base64');
    const { x, y } = createPublicKey(kiosk.cert).export({ format: 'jwk' });
    const bound = 'tls_client_certificate_bound_access_tokens = true';
    federation = await startFederation('hub-certificates', {
      shop: { secret: undefined, extra: `token_endpoint_auth_method = "tls_client_auth"\ntls_client_auth_san_dns = "shop.example.org"\n${bound}` },
      kiosk: { secret: undefined, extra: `token_endpoint_auth_method = "self_signed_tls_client_auth"\n${bound}\n[[jwks.keys]]\nkty = "EC"\ncrv = "P-256"\nx = ${tomlString(x)}\ny = ${tomlString(y)}\nx5c = [${tomlString(der)}]` },
    }, {
      publicListener: `trusted_proxies = ["127.0.0.1/32"]\nclient_certificates = { ca = "client-ca.pem", base_url = "https://localhost:${tlsPort}" }`,
      files: { 'client-ca.pem': readFileSync(at('ca.crt'), 'utf8') },
    });
    writeFileSync(at('login.pem'), readFileSync(at('localhost.crt'), 'utf8') + readFileSync(at('localhost.key'), 'utf8'));
    proxy = startProxy({ folder, tlsPort, hubPort: new URL(federation.hub.base).port });
    for (let tries = 0; ; tries += 1) {
      const up = await call('/api/v2/userinfo', {}).then(() => true, () => false);
      if (up) break;
      assert.ok(tries < 100, 'the proxy does not listen');
      await new Promise((resolve) => { setTimeout(resolve, 50); });
    }
  });
  after(async () => {
    proxy?.kill();
    await federation?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** A request over a connection with this certificate: { status, body }. */
  const call = (where, { identity = {}, form, headers = {} }) => new Promise((resolve, reject) => {
    const body = form && new URLSearchParams(form).toString();
    const type = body ? { 'content-type': 'application/x-www-form-urlencoded', 'content-length': body.length } : {};
    const outgoing = https.request(`https://localhost:${tlsPort}${where}`, {
      ...identity, ca: readFileSync(at('localhost.crt')), agent: false, method: body ? 'POST' : 'GET', headers: { ...type, ...headers },
    }, (incoming) => {
      let text = '';
      incoming.on('data', (part) => { text += part; }).on('end', () => resolve({ status: incoming.statusCode, text }));
    });
    outgoing.on('error', reject).end(body);
  });

  /** A code of a login, and the fields that redeem it. */
  async function formOf(sp) {
    const client = await discoverHub(federation.hub, sp, undefined);
    const authorization = await buildAuthorizationRequest(client, sp);
    const redirect = new URL(await signIn(new Browser(), authorization.url, { stopAt: sp.redirectUri }));
    return { grant_type: 'authorization_code', client_id: sp.id, redirect_uri: sp.redirectUri, code: redirect.searchParams.get('code'), code_verifier: authorization.verifier };
  }

  test('clients authenticate by a certificate of the authority and by one of their own, and their tokens are bound to it', options, async () => {
    const { hub } = federation;
    const document = await (await fetch(`${hub.issuer}/.well-known/openid-configuration`)).json();
    assert.equal(document.mtls_endpoint_aliases.token_endpoint, `https://localhost:${tlsPort}/api/v2/token`);
    for (const [sp, identity] of [[federation.shop, shop], [federation.kiosk, kiosk]]) {
      const answer = await call('/api/v2/token', { identity, form: await formOf(sp) });
      assert.equal(answer.status, 200, answer.text);
      const headers = { authorization: `Bearer ${JSON.parse(answer.text).access_token}` };
      assert.equal((await call('/api/v2/userinfo', { identity, headers })).status, 200);
      for (const other of [stranger, {}]) {
        assert.equal((await call('/api/v2/userinfo', { identity: other, headers })).status, 401);
      }
      const plain = await fetch(`${hub.issuer}/userinfo`, { headers });
      assert.equal(plain.status, 401, 'past the proxy, without a certificate');
    }
  });

  test('neither a forged header nor a certificate that anyone can make authenticates a client', options, async () => {
    const form = await formOf(federation.shop);
    const forged = { 'client-cert': `:${openssl('x509', '-in', 'shop.example.org.crt', '-outform', 'DER').toString('base64')}:` };
    for (const [identity, headers, status] of [[{}, forged, 401], [stranger, {}, 401], [stranger, forged, 401], [kiosk, {}, 401]]) {
      const answer = await call('/api/v2/token', { identity, form, headers });
      assert.equal(answer.status, status, answer.text);
    }
    assert.equal((await call('/api/v2/token', { identity: shop, form })).status, 200, 'the code was left alone');
  });

  test('the address of the certificates serves no page', options, async () => {
    assert.equal((await call('/', {})).status, 421);
  });
}
