// Wallets of others at the hub (kind openid4vp): @openid4vc/openid4vp with @sd-jwt/sd-jwt-vc, @owf/mdoc and @auth0/mdl sign a person
// in at a service provider that is npm openid-client, by both formats, in the same device and from another one.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import * as oidc from 'openid-client';
import { SCOPE, discoverHub, buildAuthorizationRequest } from './federation.mjs';
import { Browser, answerConsent, chooseProvider, decodeHtml, freePorts, random, startHub } from './harness.mjs';
import { Wallet, findCodeForm, scanQrCode, findWalletLink } from './real-wallet.mjs';
import { CREDENTIALS, CertificateAuthority, PidIssuer, SD_JWT_CLAIMS, connectorFile, mdocElements } from './wallet-issuer.mjs';

let hub, sp, client, issuer, access;

before(async () => {
  issuer = await PidIssuer.start();
  access = new CertificateAuthority('Access authority');
  const [port, privatePort] = await freePorts(2);
  sp = { id: 'alpha', secret: random(32), redirectUri: `http://localhost:${port}/sp/alpha/callback` };
  const relyingParty = access.issue('Passerelle', '1.3.6.1.5.5.7.3.2');
  const ids = { wallet: CREDENTIALS.sdJwt, mdoc: CREDENTIALS.mdoc, both: CREDENTIALS.sdJwt + CREDENTIALS.mdoc, named: CREDENTIALS.sdJwt };
  const more = { both: 'cross_device = true', named: 'dns_name = "localhost"\nsend_trusted_authorities = true' };
  hub = await startHub('hub-wallet', {
    port, privatePort, sps: [{ ...sp, redirectUris: [sp.redirectUri], scopes: SCOPE.split(' ') }],
    connectors: Object.fromEntries(Object.entries(ids).map(([id, credentials]) => [id, connectorFile(id, credentials, more[id])])),
    files: {
      'wallet/access.pem': relyingParty.pem + access.pem, 'wallet/issuers.pem': issuer.authority.pem,
      ...Object.fromEntries(Object.keys(ids).map((id) => [`secrets/connectors/${id}/access.key`, relyingParty.keyPem])),
    },
  });
  client = await discoverHub(hub, sp);
});
after(async () => { await hub?.stop(); await issuer?.stop(); access?.remove(); });

/** A browser on the wallet page of a connector. */
async function walletPage(connector) {
  const browser = new Browser();
  const login = await buildAuthorizationRequest(client, sp);
  const page = await chooseProvider(browser, await browser.open(login.url), connector);
  assert.match(page.url, /\/wallet\?state=/, page.html);
  return { browser, login, page };
}

/** The service provider redeems the code of the browser that came back. */
async function identity({ browser, login }, consent) {
  const back = await answerConsent(browser, consent, 'yes', sp.redirectUri);
  assert.ok(back.stopped, back.html);
  const tokens = await oidc.authorizationCodeGrant(client, new URL(back.url), { expectedState: login.state, expectedNonce: login.nonce, pkceCodeVerifier: login.verifier, idTokenExpected: true });
  return { claims: tokens.claims(), user: await oidc.fetchUserInfo(client, tokens.access_token, tokens.claims().sub) };
}

function assertAngela({ claims, user }) {
  assert.equal(user.family_name, 'DUBOIS');
  assert.equal(user.given_name, 'Angela Claire Louise');
  assert.equal(user.birthplace, '75107');
  assert.equal(user.birthcountry, '99100');
  assert.ok(Math.abs(claims.auth_time - Date.now() / 1000) < 60);
}

/** What a wallet has in each format: [name, format, issue, present]. */
const sdJwt = ['@sd-jwt/sd-jwt-vc', 'dc+sd-jwt', (key, more) => issuer.sdJwtVc(key, more), 'presentSdJwt'];
const owf = ['@owf/mdoc', 'mso_mdoc', (key) => issuer.mdoc(key), 'presentMdoc'];
const auth0 = ['@auth0/mdl', 'mso_mdoc', (key) => issuer.otherMdoc(key), 'presentOtherMdoc'];

async function present(wallet, { request, dcql }, [, format, issue, method], more) {
  const match = wallet.matches(dcql.query, format, issuer.authorityKeyIdentifier)[0];
  assert.ok(match, `the query asks for ${format}: ${JSON.stringify(dcql.query)}`);
  const presentation = await wallet[method](await issue(wallet.key, more), match, request);
  return { ...await wallet.respond(request, match.id, presentation), presentation };
}

for (const [credential, connector, method, enc] of [
  [sdJwt, 'wallet', 'get', 'A128GCM'], [sdJwt, 'wallet', 'post', 'A256GCM'], [sdJwt, 'both', 'get', 'A256GCM'], [sdJwt, 'named', 'post', 'A128GCM'],
  [owf, 'mdoc', 'get', 'A256GCM'], [owf, 'both', 'post', 'A128GCM'], [auth0, 'mdoc', 'post', 'A256GCM'], [auth0, 'both', 'get', 'A128GCM'],
]) {
  test(`${credential[0]} in the same device: connector ${connector}, request by ${method}, response with ${enc}`, async () => {
    const login = await walletPage(connector);
    const wallet = new Wallet(access.pem, { enc });
    const opened = await wallet.open(findWalletLink(login.page), method);
    assert.equal(opened.version >= 28, true, 'OpenID4VP 1.0');
    assert.equal(opened.client.prefix, connector === 'named' ? 'x509_san_dns' : 'x509_hash');
    const answer = await present(wallet, opened, credential);
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    assert.deepEqual([answer.jwe.alg, answer.jwe.enc, answer.jwe.kid], ['ECDH-ES', enc, opened.request.client_metadata.jwks.keys[0].kid]);
    assertAngela(await identity(login, await login.browser.open(answer.body.redirect_uri)));
  });
}

test('the wallet discloses what is asked for, and nothing else', async () => {
  const login = await walletPage('wallet');
  const wallet = new Wallet(access.pem);
  const opened = await wallet.open(findWalletLink(login.page));
  const { presentation } = await present(wallet, opened, sdJwt);
  const names = presentation.split('~').slice(1, -1).map((one) => JSON.parse(Buffer.from(one, 'base64url'))).map((one) => (one.length === 3 ? one[1] : '[]'));
  assert.deepEqual(names.sort(), ['[]', '[]', 'birth_family_name', 'birthdate', 'country', 'given_name', 'issuing_country', 'locality', 'nationalities', 'personal_administrative_number', 'sex']);
});

for (const credential of [sdJwt, owf, auth0]) {
  test(`${credential[0]} on another device: the QR code is scanned, and the code of the phone typed`, async () => {
    const login = await walletPage('both');
    const link = decodeHtml(login.page.html.match(/href="([^"]+other-device[^"]*)"/)[1]);
    const qr = await login.browser.open(new URL(link, hub.base).href);
    const wallet = new Wallet(access.pem);
    const opened = await wallet.open(scanQrCode(qr.html), 'post');
    const answer = await present(wallet, opened, credential);
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    const phone = await new Browser().open(answer.body.redirect_uri);
    assert.match(phone.html, /Service alpha|alpha/);
    const [code] = phone.html.match(/\d{3}[\s\u00a0]?\d{3}(?=<)/);
    const isCodeForm = (form) => form.action === findCodeForm(qr).action;
    const wrong = await login.browser.submit(qr, { pick: isCodeForm, values: { code: code.replace(/\d/g, (digit) => (Number(digit) + 1) % 10) } });
    assert.ok(findCodeForm(wrong), 'a wrong code lets the user type again');
    assertAngela(await identity(login, await login.browser.submit(wrong, { pick: isCodeForm, values: { code } })));
  });
}

for (const [status, code] of [['revoked', 'Y020513'], ['suspended', 'Y020513'], ['valid', undefined]]) {
  test(`a credential that @sd-jwt/jwt-status-list says is ${status}`, async () => {
    const login = await walletPage('wallet');
    const wallet = new Wallet(access.pem);
    const fetches = issuer.fetches;
    const answer = await present(wallet, await wallet.open(findWalletLink(login.page)), sdJwt, { status });
    const page = await login.browser.open(answer.body.redirect_uri);
    assert.equal(issuer.fetches, fetches + 1, 'a list with a ttl of 0 is fetched again');
    if (code) assert.ok(page.html.includes(code), page.html);
    else assertAngela(await identity(login, page));
  });
}

/** The wallet in Python, another implementation of all parts: what it says, or why it can't run. */
function pythonWallet(asked) {
  const program = path.join(path.dirname(fileURLToPath(import.meta.url)), 'python-sp/wallet.py');
  const child = spawn(process.env.PYTHON || 'python3', ['-B', '-W', 'ignore', program], { stdio: ['pipe', 'pipe', 'pipe'] });
  const said = { out: '', err: '' };
  child.stdout.on('data', (chunk) => { said.out += chunk; });
  child.stderr.on('data', (chunk) => { said.err += chunk; });
  child.stdin.end(JSON.stringify(asked));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', () => {
      if (said.err.includes('ModuleNotFoundError')) resolve({ missing: said.err.split('\n').at(-2) });
      else if (said.out) resolve(JSON.parse(said.out));
      else reject(new Error(said.err));
    });
  });
}

for (const [format, library, connector, enc, status, code] of [
  ['dc+sd-jwt', 'sd_jwt', 'wallet', 'A128GCM', 'valid'], ['dc+sd-jwt', 'sd_jwt', 'both', 'A256GCM', 'revoked', 'Y020513'],
  ['mso_mdoc', 'pymdoccbor', 'mdoc', 'A256GCM', 'valid'], ['mso_mdoc', 'pymdoccbor', 'both', 'A128GCM', 'valid'],
  ['mso_mdoc', 'pymdoccbor', 'mdoc', 'A128GCM', 'revoked', 'Y020513'], ['mso_mdoc', 'pymdoccbor', 'both', 'A256GCM', 'suspended', 'Y020513'],
]) {
  test(`${library} of Python: connector ${connector}, response with ${enc}, a credential that is ${status}`, async (t) => {
    const login = await walletPage(connector);
    const { portrait, ...elements } = mdocElements((text) => text);
    const answer = await pythonWallet({
      link: findWalletLink(login.page), format, enc, status: issuer.entry(status).status_list, access_authority: access.pem,
      issuer_certificate: issuer.pem, issuer_key: issuer.keyPem, x5c: issuer.x5c, claims: format === 'mso_mdoc' ? elements : SD_JWT_CLAIMS,
    });
    if (answer.missing) return t.skip(`PYTHON has not the packages of python-sp/requirements.txt: ${answer.missing}`);
    assert.equal(answer.status, 200, JSON.stringify(answer));
    const page = await login.browser.open(answer.redirect_uri);
    if (code) assert.ok(page.html.includes(code), page.html);
    else assertAngela(await identity(login, page));
  });
}

test('a wallet refuses a request whose certificate is not that of client_id', async () => {
  const { page } = await walletPage('wallet');
  const link = new URL(findWalletLink(page));
  link.searchParams.set('client_id', `x509_hash:${random(32)}`);
  await assert.rejects(new Wallet(access.pem).open(link.href), /client_id/);
  const stranger = new CertificateAuthority('Stranger');
  await assert.rejects(new Wallet(stranger.pem).open(findWalletLink(page)));
  stranger.remove();
});

test('nothing that the wallets presented is in the log', () => {
  for (const secret of ['Dubois', 'DUBOIS', '2620875107001', 'Angela']) assert.ok(!hub.log().includes(secret), secret);
});
