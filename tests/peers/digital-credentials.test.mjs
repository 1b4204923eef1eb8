// The Digital Credentials API: a real Chromium on the hub's page, whose navigator.credentials.get is that of a scripted browser
// with a wallet made of libraries (OpenID4VP 1.0 appendix A), which checks the request and expected_origins as a wallet must.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import * as jose from 'jose';
import { chromium } from 'playwright-core';
import { discover, redeem, request, userinfo } from './federation.mjs';
import { freePorts, random, startHub } from './harness.mjs';
import { Wallet } from './real-wallet.mjs';
import { CREDENTIALS, CertificateAuthority, PidIssuer, connectorFile } from './wallet-issuer.mjs';

const FLAGS = ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking'];

let hub, sp, browser, issuer, access;
before(async () => {
  issuer = await PidIssuer.start();
  access = new CertificateAuthority('Access authority');
  const relyingParty = access.issue('Passerelle', '1.3.6.1.5.5.7.3.2');
  const [port, privatePort] = await freePorts(2);
  sp = { id: 'alpha', secret: random(32), redirectUri: `http://localhost:${port}/sp/alpha/callback` };
  hub = await startHub('digital-credentials', {
    port, privatePort, connectors: { wallet: connectorFile('wallet', CREDENTIALS.sdJwt + CREDENTIALS.mdoc, 'digital_credentials_api = true') },
    sps: [{ ...sp, redirectUris: [sp.redirectUri], scopes: ['openid', 'profile', 'birth'] }],
    files: { 'wallet/access.pem': relyingParty.pem + access.pem, 'wallet/issuers.pem': issuer.authority.pem, 'secrets/connectors/wallet/access.key': relyingParty.keyPem },
  });
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: FLAGS });
});
after(async () => {
  await browser?.close();
  await hub?.stop();
  await issuer?.stop();
  access?.remove();
});

/** What a wallet has in each format: [format, issue, present]. */
const WALLETS = {
  '@sd-jwt/sd-jwt-vc': ['dc+sd-jwt', (key) => issuer.sdJwtVc(key), 'presentSdJwt'],
  '@owf/mdoc': ['mso_mdoc', (key) => issuer.mdoc(key), 'presentMdoc'],
  '@auth0/mdl': ['mso_mdoc', (key) => issuer.otherMdoc(key), 'presentOtherMdoc'],
};

/** What a wallet does with a signed request that a page of `origin` gave to the browser. Returns `data` of the credential. */
async function answer(name, compact, origin, signedFor = origin) {
  const [format, issue, present] = WALLETS[name];
  const wallet = new Wallet(access.pem);
  const opened = await wallet.openForApi(compact, origin);
  assert.equal(opened.client.prefix, 'x509_hash');
  assert.equal(opened.request.response_mode, 'dc_api.jwt');
  const [match] = wallet.matches(opened.dcql.query, format, issuer.authorityKeyIdentifier);
  const presentation = await wallet[present](await issue(wallet.key), match, opened.request, signedFor);
  return { response: (await wallet.encrypt(opened.request, match.id, presentation, origin)).responseJwt };
}

/** A browser at the wallet page of a login. `signedFor` is the origin that the wallet signs, if it is another. */
async function atWalletPage(name, signedFor) {
  const context = await browser.newContext({ locale: 'en-GB' });
  const page = await context.newPage();
  await page.exposeFunction('walletAnswer', (compact, origin) => answer(name, compact, origin, signedFor));
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

for (const name of Object.keys(WALLETS)) {
  test(`${name}: a credential that the browser got from the wallet signs its user in`, async () => {
    const { context, page, asked } = await atWalletPage(name);
    await page.locator('#digital-credential button').click();
    await page.locator('form[action$="/consent"] button[value=yes]').click();
    await page.waitForURL(`${sp.redirectUri}**`);
    const code = new URL(page.url()).searchParams.get('code');
    const { body } = await redeem(hub, sp, { code, code_verifier: asked.verifier });
    const claims = jose.decodeJwt(await (await userinfo(hub, body.access_token)).text());
    assert.deepEqual([claims.family_name, claims.birthdate], ['DUBOIS', '1962-08-24']);
    await context.close();
  });

  test(`${name}: a presentation for another origin, as a page that forwards the request gets, is refused`, async () => {
    const { context, page } = await atWalletPage(name, 'https://evil.example');
    await page.locator('#digital-credential button').click();
    await page.getByText('Y020510').first().waitFor();
    await context.close();
  });
}

test('a wallet refuses the request on the page of another origin', async () => {
  const { context, page } = await atWalletPage('@sd-jwt/sd-jwt-vc');
  const compact = await page.locator('[data-request]').getAttribute('data-request');
  await assert.rejects(new Wallet(access.pem).openForApi(compact, 'https://evil.example'), /expected_origins/);
  await context.close();
});
