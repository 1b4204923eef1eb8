// The Digital Credentials API: a real Chromium on the hub's page, whose navigator.credentials.get is that of a scripted browser
// with a wallet made of libraries (OpenID4VP 1.0 appendix A), which checks the request and expected_origins as a wallet must.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import * as jose from 'jose';
import { redeemCode, fetchUserinfo } from './federation.mjs';
import { Wallet } from './real-wallet.mjs';
import { WalletHub } from './wallet-browser.mjs';
import { CREDENTIALS } from './wallet-issuer.mjs';

let hub;
before(async () => { hub = await WalletHub.start('digital-credentials', CREDENTIALS.sdJwt + CREDENTIALS.mdoc, 'digital_credentials_api = true'); });
after(() => hub?.stop());

/** What a wallet has in each format: [format, issue, present]. */
const WALLETS = {
  '@sd-jwt/sd-jwt-vc': ['dc+sd-jwt', (key) => hub.issuer.sdJwtVc(key), 'presentSdJwt'],
  '@owf/mdoc': ['mso_mdoc', (key) => hub.issuer.mdoc(key), 'presentMdoc'],
  '@auth0/mdl': ['mso_mdoc', (key) => hub.issuer.otherMdoc(key), 'presentOtherMdoc'],
};

/** What a wallet does with a signed request that a page of `origin` gave to the browser. Returns `data` of the credential. */
async function answer(name, compact, origin, signedFor = origin) {
  const [format, issue, present] = WALLETS[name];
  const wallet = new Wallet(hub.access.pem);
  const opened = await wallet.openForApi(compact, origin);
  assert.equal(opened.client.prefix, 'x509_hash');
  assert.equal(opened.request.response_mode, 'dc_api.jwt');
  const [match] = wallet.matches(opened.dcql.query, format, hub.issuer.authorityKeyIdentifier);
  const presentation = await wallet[present](await issue(wallet.key), match, opened.request, signedFor);
  return { response: (await wallet.encrypt(opened.request, match.id, presentation, origin)).responseJwt };
}

/** A browser at the wallet page of a login. `signedFor` is the origin that the wallet signs, if it is another. */
async function atWalletPage(name, signedFor) {
  const opened = await hub.openPage({ locale: 'en-GB' }, (compact, origin) => answer(name, compact, origin, signedFor));
  await opened.page.locator('#digital-credential button').waitFor();
  return opened;
}

for (const name of Object.keys(WALLETS)) {
  test(`${name}: a credential that the browser got from the wallet signs its user in`, async () => {
    const { context, page, asked } = await atWalletPage(name);
    await page.locator('#digital-credential button').click();
    await page.locator('form[action$="/consent"] button[value=yes]').click();
    await page.waitForURL(`${hub.sp.redirectUri}**`);
    const code = new URL(page.url()).searchParams.get('code');
    const { body } = await redeemCode(hub.hub, hub.sp, { code, code_verifier: asked.verifier });
    const claims = jose.decodeJwt(await (await fetchUserinfo(hub.hub, body.access_token)).text());
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
  await assert.rejects(new Wallet(hub.access.pem).openForApi(compact, 'https://evil.example'), /expected_origins/);
  await context.close();
});
