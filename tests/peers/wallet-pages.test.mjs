// The pages of wallets in a real browser, wide and narrow, light and dark: axe-core, keyboard only, 320 pixels. The Digital
// Credentials API is that of a scripted browser; the phone that scans the QR code is a wallet made of libraries.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startDemo } from './harness.mjs';
import { activateByKeyboard, checkPage } from './page-checks.mjs';
import { Wallet, scanQrCode } from './real-wallet.mjs';
import { WalletHub } from './wallet-browser.mjs';
import { CREDENTIALS } from './wallet-issuer.mjs';

const SIGHTS = [
  { name: 'wide', locale: 'en-GB', viewport: { width: 1280, height: 900 } },
  { name: 'phone', locale: 'fr-FR', viewport: { width: 375, height: 667 }, colorScheme: 'dark' },
  { name: 'narrow', locale: 'de-DE', viewport: { width: 320, height: 640 } },
  { name: 'right-to-left', locale: 'ar', viewport: { width: 320, height: 640 }, colorScheme: 'dark' },
];

let hub;
before(async () => {
  const settings = 'digital_credentials_api = true\ncross_device = true\nwallets = [{ url = "openid4vp://" }, { name = "City wallet", url = "https://wallet.example/authorize" }]';
  hub = await WalletHub.start('wallet-pages', CREDENTIALS.sdJwt, settings);
});
after(() => hub?.stop());

async function presentTo(wallet, opened, origin) {
  const [match] = wallet.matches(opened.dcql.query, 'dc+sd-jwt', hub.issuer.authorityKeyIdentifier);
  return [match.id, await wallet.presentSdJwt(await hub.issuer.sdJwtVc(wallet.key), match, opened.request, origin)];
}

/** What the browser's API returns: the wallet agrees, or its user closes the dialog. */
async function apiAnswer(agrees, compact, origin) {
  if (!agrees) return null;
  const wallet = new Wallet(hub.access.pem);
  const opened = await wallet.openForApi(compact, origin);
  const [id, presentation] = await presentTo(wallet, opened, origin);
  return { response: (await wallet.encrypt(opened.request, id, presentation, origin)).responseJwt };
}

/** Scans the QR code of a page with a phone whose user agrees. Returns the address that the phone opens. */
async function answerOnPhone(page) {
  const wallet = new Wallet(hub.access.pem);
  const opened = await wallet.open(scanQrCode(await page.content()), 'post');
  const [id, presentation] = await presentTo(wallet, opened);
  const { status, body } = await wallet.respond(opened.request, id, presentation);
  assert.equal(status, 200, JSON.stringify(body));
  return body.redirect_uri;
}

/** A browser at the wallet page. agrees: whether the user of the API's wallet does; without it there is no API. */
async function atWalletPage({ name: _, agrees, ...options }) {
  const answers = { agrees };
  const answer = agrees === undefined ? undefined : (compact, origin) => apiAnswer(answers.agrees, compact, origin);
  // The content policy of the pages forbids injected scripts, axe-core's too.
  return { ...(await hub.openPage({ bypassCSP: true, ...options }, answer)), answers };
}

const consent = (page) => page.locator('form[action$="/consent"] button[value=yes]');
const codeField = (page) => page.locator('#code');

for (const sight of SIGHTS) {
  test(`the page with the button of the Digital Credentials API: ${sight.name}`, async () => {
    const { context, page, answers } = await atWalletPage({ ...sight, agrees: false });
    const button = page.locator('#digital-credential button');
    await button.waitFor();
    await checkPage(page, `wallet-api-${sight.name}`);
    // The user closes the dialog, and tries again: by keyboard alone.
    await activateByKeyboard(button);
    await page.locator('#digital-credential .note').waitFor();
    await checkPage(page, `wallet-api-closed-${sight.name}`);
    answers.agrees = true;
    await activateByKeyboard(button);
    await consent(page).waitFor();
    await context.close();
  });

  test(`the page with the QR code, the phone's code, and wrong codes: ${sight.name}`, async () => {
    const { context, page } = await atWalletPage(sight);
    assert.ok(await page.locator('#digital-credential').isHidden(), 'without the API there is no button');
    await checkPage(page, `wallet-links-${sight.name}`);
    await activateByKeyboard(page.locator('a[href*="/other-device"]'));
    await codeField(page).waitFor();
    await checkPage(page, `wallet-qr-${sight.name}`);
    const typed = async (code) => {
      const field = codeField(page);
      for (let presses = 0; !(await field.evaluate((element) => element === document.activeElement)); presses += 1) {
        assert.ok(presses < 30, 'Tab reaches the code');
        await page.keyboard.press('Tab');
      }
      await page.keyboard.type(code);
      await Promise.all([page.waitForNavigation(), page.keyboard.press('Enter')]);
    };
    await typed('000000');
    await checkPage(page, `wallet-waiting-${sight.name}`);
    const phone = await context.newPage();
    await phone.goto(await answerOnPhone(page));
    await checkPage(phone, `wallet-code-${sight.name}`);
    const code = (await phone.locator('.digits').innerText()).replace(/\D/g, '');
    assert.match(code, /^\d{6}$/);
    await page.bringToFront();
    await typed(code.replace(/\d/g, (digit) => (Number(digit) + 1) % 10));
    assert.equal(await codeField(page).getAttribute('aria-invalid'), 'true');
    await checkPage(page, `wallet-wrong-code-${sight.name}`);
    await typed(`${code.slice(0, 3)} ${code.slice(3)}`);
    await consent(page).waitFor();
    await context.close();
  });
}

test('after five wrong codes the page leads back to the choice', async () => {
  const [, phone] = SIGHTS;
  const { context, page } = await atWalletPage(phone);
  await page.locator('a[href*="/other-device"]').click();
  await codeField(page).waitFor();
  const shown = await context.newPage();
  await shown.goto(await answerOnPhone(page));
  const code = (await shown.locator('.digits').innerText()).replace(/\D/g, '');
  for (let tries = 1; tries <= 5; tries += 1) {
    await codeField(page).fill(code.replace(/\d/g, (digit) => (Number(digit) + tries) % 10));
    await Promise.all([page.waitForNavigation(), page.locator('button.main').click()]);
  }
  assert.equal(await codeField(page).count(), 0);
  await checkPage(page, 'wallet-exhausted');
  await activateByKeyboard(page.locator('main a.main'));
  await page.locator('form[action$="/provider"] button[value=wallet]').waitFor();
  await context.close();
});

test('without script the page has its links, the QR code its form, and nothing refreshes by itself', async () => {
  const { context, page } = await atWalletPage({ ...SIGHTS[0], javaScriptEnabled: false });
  assert.ok(await page.locator('#digital-credential').isHidden());
  assert.equal(await page.locator('meta[http-equiv=refresh]').count(), 0);
  const asked = [];
  page.on('request', (one) => asked.push(one.url()));
  await page.locator('a[href*="/other-device"]').click();
  await codeField(page).waitFor();
  assert.equal(await page.locator('meta[http-equiv=refresh]').count(), 0);
  const seen = asked.length;
  const shown = await context.newPage();
  await shown.goto(await answerOnPhone(page));
  const code = (await shown.locator('.digits').textContent()).replace(/\D/g, '');
  assert.equal(asked.length, seen, 'the page asks nothing while it waits');
  await codeField(page).fill(code);
  await page.locator('button.main').click();
  await consent(page).waitFor();
  await context.close();
});

for (const { name, press, ...sight } of [
  { name: 'wide-keyboard', locale: 'en-GB', viewport: { width: 1280, height: 900 }, press: activateByKeyboard },
  { name: 'phone', locale: 'fr-FR', viewport: { width: 375, height: 667 }, press: (target) => target.click() },
  { name: 'no-script', locale: 'en-GB', viewport: { width: 320, height: 640 }, javaScriptEnabled: false, press: (target) => target.click() },
]) {
  test(`the demo signs someone in with its wallet, in one command and without a phone: ${name}`, async () => {
    const demo = await startDemo(`demo-wallet-${name}`);
    const context = await hub.browser.newContext({ bypassCSP: true, ...sight });
    context.setDefaultTimeout(15_000);
    const page = await context.newPage();
    const sees = (step) => (sight.javaScriptEnabled === false ? undefined : checkPage(page, `demo-wallet-${name}-${step}`));
    try {
      await page.goto(demo.url);
      await page.locator('form[action="/login"]:has(input[value=eidas1]) button').first().click();
      const wallet = page.locator('form[action$="/provider"] button[value=portefeuille]');
      for (const answer of ['decline', 'agree']) {
        await press(wallet);
        await press(page.locator('a.button.main').first());
        const button = page.locator(`button[value=${answer}]`);
        await button.waitFor();
        await sees(answer);
        await press(button);
        // Who declines chooses again.
        if (answer === 'decline') await page.getByText('Y020020').first().waitFor();
      }
      await press(consent(page));
      await page.waitForURL(`${new URL(demo.url).origin}/**`);
      assert.match(await page.locator('main').innerText(), /"acr": "eidas1"/);
    } finally {
      await context.close();
      await demo.stop();
    }
  });
}
