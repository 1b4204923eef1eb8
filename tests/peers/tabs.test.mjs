// A real browser and the ways in which people really use one: many tabs, the back button, impatience, lost cookies.
import assert from 'node:assert/strict';
import path from 'node:path';
import { after, before, test } from 'node:test';
import * as oidc from 'openid-client';
import { chromium } from 'playwright-core';
import { discoverHub, buildAuthorizationRequest, startFederation } from './federation.mjs';
import { artifacts, startServer, startDemo } from './harness.mjs';

const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];

let demo, browser;
before(async () => {
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: FLAGS });
  demo = await startDemo('demo-tabs');
});
after(async () => {
  await browser?.close();
  await demo?.stop();
});

async function visit(more = {}) {
  const context = await browser.newContext({ locale: 'en-GB', viewport: { width: 390, height: 844 }, ...more });
  context.setDefaultTimeout(15_000);
  return { context, page: await context.newPage() };
}
const at = {
  start: (page) => page.locator('form[action="/login"]:has(input[value=eidas1]) button').first(),
  choice: (page) => page.locator('form[action$="/provider"] button').first(),
  sandbox: (page) => page.locator('form:has(input[type=radio]) button.main, form:has(input[type=radio]) button[type=submit]').first(),
  consent: (page) => page.locator('form[action$="/consent"] button[value=yes]'),
};
const home = () => new URL(demo.url).origin;
const STEPS = ['start', 'choice', 'sandbox', 'consent'];
/** From the demo service provider to this page. */
async function walk(page, to, press = (target) => target.click()) {
  await page.goto(demo.url);
  for (const step of STEPS.slice(0, STEPS.indexOf(to))) await press(at[step](page));
  await at[to](page).waitFor();
}
const text = (page) => page.locator('main').innerText();
/** Also what is folded away. */
const whole = (page) => page.locator('main').textContent();
const picture = (page, name) => page.screenshot({ path: path.join(artifacts, `${name}.png`), fullPage: true });
async function assertSignedIn(page) {
  await page.waitForURL((url) => url.origin === home());
  assert.match(await text(page), /"acr": "eidas1"/);
}

test('ten logins in one browser: eight finish, and two say why not', async () => {
  const far = await startServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/html' });
    response.end('<!doctype html><title>far</title><h1>far</h1>');
  });
  const callback = `http://127.0.0.1:${far.port}/callback`;
  const federation = await startFederation('hub-ten-tabs', { far: { redirectUri: callback } });
  const { context, page: first } = await visit();
  try {
    const client = await discoverHub(federation.hub, federation.far);
    const tabs = [];
    for (let n = 0; n < 10; n += 1) {
      const tab = n === 0 ? first : await context.newPage();
      const authorization = await buildAuthorizationRequest(client, federation.far);
      await tab.goto(authorization.url);
      await at.choice(tab).waitFor();
      tabs.push({ tab, asked: authorization });
    }
    for (const { tab } of tabs.slice(0, 2)) {
      await at.choice(tab).click();
      await tab.getByText('Y420007').waitFor();
      await picture(tab, 'tab-displaced');
      assert.equal(await tab.locator('main form, main a').count(), 0, 'the cookie went with the login');
    }
    // The youngest first, and each a step at a time, so that they are all under way at once.
    const eight = tabs.slice(2).toReversed();
    for (const { tab } of eight) await at.choice(tab).click();
    for (const { tab } of eight) {
      await tab.locator('input[name=login]').waitFor();
      await tab.locator('button').click();
      await at.consent(tab).waitFor();
    }
    for (const { tab, asked } of eight) {
      await at.consent(tab).click();
      await tab.waitForURL(`${callback}**`);
      const tokens = await oidc.authorizationCodeGrant(client, new URL(tab.url()), {
        pkceCodeVerifier: asked.verifier, expectedState: asked.state, expectedNonce: asked.nonce, idTokenExpected: true,
      });
      assert.equal(tokens.claims().acr, 'eidas1');
    }
  } finally {
    await context.close();
    await federation.stop();
    await far.close();
  }
});

test('back to every page of a login that is over: each says where it stands, and none gives a second code', async () => {
  const { context, page } = await visit();
  const codes = new Set();
  page.on('request', (r) => {
    const url = new URL(r.url());
    if (url.origin === home() && url.searchParams.has('code')) codes.add(url.searchParams.get('code'));
  });
  await walk(page, 'consent');
  const pages = [page.url()];
  await at.consent(page).click();
  await assertSignedIn(page);
  for (let step = 0; step < 8 && page.url() !== demo.url; step += 1) {
    await page.goBack().catch(() => {});
    await page.locator('h1').waitFor();
    pages.push(page.url());
    // A page of the hub, not of the browser; whatever stands there leads on.
    assert.ok(await page.locator('main a, main button').count() > 0, `${page.url()}: ${await text(page)}`);
    await page.reload();
    await page.locator('h1').waitFor();
    assert.ok(await page.locator('main a, main button').count() > 0, `${page.url()} again: ${await text(page)}`);
  }
  assert.ok(pages.some((url) => /\/interaction\/[^/]+$/.test(url)), `the choice was passed: ${pages}`);
  await page.goto(pages[0]);
  await picture(page, 'back-to-what-is-over');
  assert.match(await text(page), /Y420005/);
  await page.locator('main a').first().click();
  await page.waitForURL((url) => url.origin === home());
  assert.equal(codes.size, 1);
  await context.close();
});

test('every button clicked twice, with no script to hold the second click: one login, one code', async () => {
  const { context, page } = await visit({ javaScriptEnabled: false });
  const codes = new Set();
  page.on('request', (r) => {
    const url = new URL(r.url());
    if (url.origin === home() && url.searchParams.has('code')) codes.add(url.searchParams.get('code'));
  });
  await walk(page, 'consent', (target) => target.dblclick());
  // The second click's own navigation may still be on its way to the same page.
  await page.waitForLoadState('networkidle');
  await at.consent(page).dblclick();
  await assertSignedIn(page);
  assert.equal(codes.size, 1);
  await context.close();
});

for (const lost of ['choice', 'sandbox', 'consent']) {
  test(`a browser that lost its cookies at the ${lost} page gets a page that says so, and names no service`, async () => {
    const { context, page } = await visit();
    await walk(page, lost);
    await context.clearCookies();
    await at[lost](page).click();
    await page.getByText('Y420002').waitFor();
    await picture(page, `cookies-lost-at-${lost}`);
    assert.equal(await page.locator('main form, main a').count(), 0);
    await context.close();
  });
}

test('two persons in two tabs: each service hears of its own, and the browser is the last one\'s', async () => {
  const { context, page: angela } = await visit();
  const jean = await context.newPage();
  for (const [tab, person] of [[angela, 'angela'], [jean, 'jean']]) {
    await walk(tab, 'sandbox');
    const choice = tab.locator(`input[type=radio][value=${person}]`);
    await choice.check();
  }
  for (const tab of [jean, angela]) await at.sandbox(tab).click();
  for (const tab of [jean, angela]) await at.consent(tab).waitFor();
  assert.match(await whole(angela), /DUBOIS/);
  assert.match(await whole(jean), /LEFÈVRE/);
  await at.consent(jean).click();
  await assertSignedIn(jean);
  assert.match(await whole(jean), /LEFÈVRE/);
  await at.consent(angela).click();
  await assertSignedIn(angela);
  assert.match(await whole(angela), /DUBOIS/);
  await context.close();
});
