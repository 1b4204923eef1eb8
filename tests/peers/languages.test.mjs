// The pages in each language: axe-core on a page of each template, the choice of a language in a real browser, and the
// time in the person's zone.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { chromium } from 'playwright-core';
import { artifacts, startDemo, skipUnlessAll } from './harness.mjs';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
const DESKTOP = { width: 1280, height: 900 };
const PHONE = { width: 320, height: 640 };
const LANGUAGES = ['ar', 'de', 'en', 'es', 'fr', 'it', 'nl', 'pl', 'pt', 'ro'];
// The unit tests write every page in every language there.
const gallery = path.resolve(import.meta.dirname, '../../target/pages');
const skip = (language) => (!existsSync(path.join(gallery, 'ar')) ? 'cargo test writes the gallery' : !['ar', 'en'].includes(language) && skipUnlessAll);
// One of each template; browser.test.mjs looks at every state of the choice page.
const sights = [
  'choice-3', 'choice-search', 'choice-categories', 'choice-email', 'choice-troubled', 'consent-information', 'consent-question',
  'demo-error', 'demo-signed-in', 'demo-signed-out', 'diagnostics-rejected', 'error-Y000404', 'error-Y020310', 'log-out',
  'logged-out-back', 'notices-choice', 'oauth-invalid_client', 'sandbox', 'sign-in-2', 'token-diagnostic-code',
];
const pictured = ['choice-3', 'consent-question', 'sign-in-2', 'error-Y020310'];

let demo, browser;
before(async () => {
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: FLAGS });
  demo = await startDemo();
});
after(async () => {
  await browser?.close();
  await demo?.stop();
});

/** What is wrong with the page: each violation of axe-core, and sideways scrolling. */
async function faults(page) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate((rules) => globalThis.axe.run(document, { runOnly: rules }), RULES);
  const sideways = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  const found = violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.html).join(' | ')}`);
  return sideways > 0 ? [...found, `scrolls sideways by ${sideways} px`] : found;
}

for (const [index, language] of LANGUAGES.entries()) {
  // Half of the languages on a wide screen, half on a phone, and the one from right to left on both.
  const sizes = language === 'ar' ? { wide: DESKTOP, phone: PHONE } : index % 2 === 0 ? { wide: DESKTOP } : { phone: PHONE };
  test(`no page has an accessibility violation: ${language}`, { skip: skip(language) }, async () => {
    for (const [size, viewport] of Object.entries(sizes)) {
      const context = await browser.newContext({ viewport, colorScheme: size === 'wide' ? 'light' : 'dark' });
      const page = await context.newPage();
      for (const name of sights) {
        await page.goto(`file://${path.join(gallery, language, `${name}.html`)}`);
        assert.deepEqual(await faults(page), [], `${language} ${size} ${name}`);
        if (pictured.includes(name)) await page.screenshot({ path: path.join(artifacts, `${language}-${size}-${name}.png`), fullPage: true });
      }
      await context.close();
    }
  });
}

const begin = (page) => page.locator('form[action="/login"]:has(input[value=eidas1]) button').first().click();
// The order of the names depends on the language.
const provider = (page) => page.locator('form[action$="/provider"] button[value=amandier]');

for (const javaScriptEnabled of [true, false]) {
  test(`a person chooses Arabic in the middle of a login and goes on, ${javaScriptEnabled ? 'with' : 'without'} script`, async () => {
    const context = await browser.newContext({ locale: 'en-GB', viewport: DESKTOP, javaScriptEnabled });
    const page = await context.newPage();
    await page.goto(demo.url);
    await begin(page);
    await provider(page).waitFor();
    const before = page.url();
    await page.locator('.language select').selectOption('ar');
    await page.locator('.language button').click();
    await page.locator('html[lang=ar][dir=rtl]').waitFor({ state: 'attached' });
    assert.equal(page.url(), before, 'the login keeps its place');
    await provider(page).click();
    await page.locator('form:has(input[type=radio]) button.main').first().click();
    const consent = page.locator('form[action$="/consent"] button[value=yes]');
    await consent.waitFor();
    assert.equal(await page.locator('html').getAttribute('lang'), 'ar');
    const cookie = (await context.cookies(before)).find(({ name }) => name.endsWith('-language'));
    assert.deepEqual([cookie.value, cookie.httpOnly, cookie.sameSite, cookie.path], ['ar', true, 'Lax', '/']);
    await consent.click();
    await page.waitForURL((url) => url.origin === new URL(demo.url).origin);
    await context.close();
  });
}

test('the time of an error is in the person’s zone with script, in UTC without', async () => {
  const times = [];
  for (const javaScriptEnabled of [true, false]) {
    const context = await browser.newContext({ locale: 'en-GB', timezoneId: 'Asia/Tokyo', javaScriptEnabled });
    const page = await context.newPage();
    await page.goto(demo.url);
    await begin(page);
    await provider(page).waitFor();
    await page.goto(`${new URL(page.url()).origin}/api/v2/nothing`);
    assert.match(await page.locator('time').getAttribute('datetime'), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?Z$/);
    times.push(await page.locator('time').innerText());
    await context.close();
  }
  assert.match(times[0], /:\d\d:\d\d( [AP]M)? GMT\+9$/);
  assert.match(times[1], /\(UTC\)$/);
});
