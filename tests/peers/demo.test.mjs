// What a newcomer sees in the demo, in Chromium: logos, a blocked and an unreachable identity provider, consent, methods
// by name, what a sign-out ended, and the operator's console without entering a token.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { chromium } from 'playwright-core';
import { artifacts, startDemo } from './harness.mjs';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];
const SIZES = { wide: { width: 1280, height: 900 }, phone: { width: 390, height: 844 } };

let demo, browser;
before(async () => {
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: FLAGS });
  // A newcomer's machine may have no certificate authorities: the demo calls no one over TLS.
  demo = await startDemo('demo-newcomers', { SSL_CERT_FILE: '/dev/null', SSL_CERT_DIR: artifacts });
});
after(async () => {
  await browser?.close();
  await demo?.stop();
});

async function visit(viewport, more = {}) {
  const context = await browser.newContext({ locale: 'en-GB', viewport, bypassCSP: true, ...more });
  context.setDefaultTimeout(15_000);
  return { context, page: await context.newPage() };
}
/** Keeps a picture of the page, and fails on a serious or critical violation. */
async function look(page, name) {
  await page.screenshot({ path: path.join(artifacts, `newcomer-${name}.png`), fullPage: true });
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] }));
  const grave = violations.filter((v) => ['serious', 'critical'].includes(v.impact)).map((v) => `${v.id}: ${v.nodes.map((n) => n.html).join(' | ')}`);
  assert.deepEqual(grave, [], name);
  const sideways = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  assert.ok(sideways <= 0, `${name}: scrolls sideways by ${sideways} px`);
}
const main = (page) => page.locator('main').innerText();
const startButton = (page, level = 'eidas1') => page.locator(`form[action="/login"]:has(input[value=${level}]):not(:has(input[name=consent])) button`).first();
const consentButton = (page) => page.locator('form[action="/login"]:has(input[name=consent]) button');
const account = (page, id) => page.locator(`form[action$="/provider"] button[value=${id}]`);
const sandboxButton = (page) => page.locator('form[action^="/sandbox/"] button');
const answer = (page, value) => page.locator(`form[action$="/consent"] button[value=${value}]`);
const home = () => new URL(demo.url).origin;
const atHome = (page) => page.waitForURL((url) => url.origin === home());

for (const [size, viewport] of Object.entries(SIZES)) {
  test(`a newcomer sees what the product does: ${size}`, async () => {
    const { context, page } = await visit(viewport);
    await page.goto(demo.url);
    await look(page, `${size}-1-start`);
    await consentButton(page).click();
    // Two probes find the unreachable one; until then it is offered.
    await account(page, 'amandier').waitFor();
    for (let tries = 0; await account(page, 'donjon').count() > 0; tries += 1) {
      assert.ok(tries < 400, 'the unreachable identity provider is still offered');
      await page.reload();
    }
    const choice = await main(page);
    assert.match(choice, /Cassis account\s+Closed for maintenance until further notice\./);
    assert.match(choice, /Donjon identity\s+Out of order at the moment/);
    for (const id of ['amandier', 'belvedere']) {
      assert.ok(await account(page, id).locator('img').evaluate((image) => image.complete && image.naturalWidth > 0), id);
    }
    await look(page, `${size}-2-choice`);
    await account(page, 'belvedere').click();
    const methods = await page.locator('label:has(input[name=method])').allInnerTexts();
    assert.equal(methods.length, 22);
    assert.ok(methods.includes('Hardware key hwk'), methods.join());
    await page.locator('input[name=method][value=hwk]').check();
    await look(page, `${size}-3-sandbox`);
    await sandboxButton(page).click();
    assert.match(await main(page), /Do you agree to send this information/);
    await look(page, `${size}-4-consent`);
    await answer(page, 'yes').click();
    await atHome(page);
    const signedIn = await main(page);
    assert.match(signedIn, /Password pwd/);
    assert.match(signedIn, /Hardware key hwk/);
    assert.match(signedIn, /"aud": "demo-consent"/);
    await look(page, `${size}-5-signed-in`);
    await page.locator('form[action="/logout"] button').click();
    await atHome(page);
    assert.match(await main(page), /The hub: its session has ended/);
    await look(page, `${size}-6-signed-out`);
    await startButton(page).click();
    await account(page, 'amandier').click();
    await page.locator('select[name=failure]').selectOption('unknown-person');
    await sandboxButton(page).click();
    if (await answer(page, 'yes').count() > 0) await answer(page, 'yes').click();
    const number = (await main(page)).match(/(?:[0-9A-HJKMNP-TV-Z]{4} ?){3}/)[0];
    await look(page, `${size}-7-unknown-person`);
    await page.goto(demo.url);
    await page.locator('button[name=platform][value=standard]').click();
    await page.waitForURL(/\/admin\/$/);
    assert.match(await main(page), /donjon/);
    await look(page, `${size}-8-console`);
    await page.locator('input[name=support_id]').first().fill(number);
    await page.keyboard.press('Enter');
    await page.waitForURL(`**/admin/logins/${number.replaceAll(' ', '')}`);
    assert.match(await main(page), /Y0\d{5}/);
    await look(page, `${size}-9-login`);
    await context.close();
  });
}

for (const [name, sight] of Object.entries({ wide: { viewport: SIZES.wide }, phone: { viewport: SIZES.phone, colorScheme: 'dark' }, 'no script': { viewport: SIZES.phone, javaScriptEnabled: false } })) {
  test(`a person signs in at the SAML identity provider, and out at either end: ${name}`, async () => {
    const { context, page } = await visit(sight.viewport, sight);
    const looks = (step) => (sight.javaScriptEnabled === false ? undefined : look(page, `saml-${name}-${step}`));
    const universitySignIn = page.locator('form[action="/sign-in"] button');
    // Script sends the response; without script the person does.
    const signInAtUniversity = async () => {
      await universitySignIn.click();
      if (sight.javaScriptEnabled === false) await page.locator('form#return button').click();
    };
    const signIn = async (person) => {
      await page.goto(demo.url);
      await startButton(page).click();
      await account(page, 'erable').click();
      await page.locator(`input[name=person][value=${person}]`).check();
    };
    await signIn('jean');
    assert.match(await main(page), /Erable University \(SAML\)/);
    const university = new URL(page.url()).origin;
    await looks('1-person');
    await page.locator('select[name=failure]').selectOption('cancel');
    await signInAtUniversity();
    await page.getByText('Y020020').first().waitFor();
    await looks('2-cancelled');
    await account(page, 'erable').click();
    await page.locator('input[name=person][value=maria]').check();
    await signInAtUniversity();
    await answer(page, 'yes').click();
    await atHome(page);
    const signedIn = await main(page);
    assert.match(signedIn, /GARCÍA MÁRQUEZ/);
    assert.match(signedIn, /"acr": "eidas1"/);
    await page.locator('form[action="/logout"] button').click();
    await atHome(page);
    assert.match(await main(page), /The hub: its session has ended/);
    await page.goto(`${university}/`);
    assert.match(await main(page), /no one is signed in/, 'the hub has ended the session of the university');

    await signIn('jean');
    await signInAtUniversity();
    await answer(page, 'yes').click();
    await atHome(page);
    await page.goto(`${university}/`);
    assert.match(await main(page), /your account “Erable University \(SAML\)”/);
    await looks('3-sign-out');
    await page.locator('form[action="/session/end/confirm"] button').click();
    assert.match(await main(page), /You are signed out/);
    assert.equal(new URL(page.url()).origin, university, 'the hub has answered');
    await looks('4-signed-out');
    await page.goto(demo.url);
    await startButton(page).click();
    await account(page, 'erable').waitFor();
    await context.close();
  });
}

test('the console opens for the person at the demo only: not by a link, nor for a page of another site', async () => {
  const { context, page } = await visit(SIZES.wide);
  const [, consoleAt] = demo.log().match(/its console +(\S+)\/admin\//);
  await page.goto(`${consoleAt}/admin/`);
  assert.match(await main(page), /Administration token/);
  // A page on another site that sends the form of the demo.
  await page.goto('about:blank');
  await page.setContent(`<form method="post" action="${home()}/console"><input name="platform" value="standard"><button>go</button></form>`);
  await page.locator('button').click();
  assert.match(await main(page), /another site/);
  assert.equal((await context.request.get(`${home()}/console?platform=standard`)).status(), 405);
  await page.goto(`${consoleAt}/admin/`);
  assert.match(await main(page), /Administration token/);
  assert.deepEqual((await context.cookies()).filter(({ name }) => name === 'passerelle-admin'), []);
  await context.close();
});

test('a removed block opens the account within seconds', async () => {
  const { context, page } = await visit(SIZES.wide);
  const [, folder] = demo.log().match(/its folder +(\S+)/);
  const file = path.join(folder, 'connectors/cassis.toml');
  const blocked = readFileSync(file, 'utf8');
  writeFileSync(file, blocked.replace(/^\[\[block\]\][^]*?\n\n/m, ''));
  await page.goto(demo.url);
  await startButton(page).click();
  await account(page, 'amandier').waitFor();
  for (let tries = 0; await account(page, 'cassis').count() === 0; tries += 1) {
    assert.ok(tries < 400, 'the account is still blocked');
    await page.reload();
  }
  await account(page, 'cassis').click();
  await sandboxButton(page).click();
  await answer(page, 'yes').click();
  await atHome(page);
  assert.match(await main(page), /"acr": "eidas1"/);
  writeFileSync(file, blocked);
  await context.close();
});
