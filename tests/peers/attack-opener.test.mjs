// A real browser, a service provider that opens its login in a pop-up, and a site that opens the hub's other pages in one:
// the login keeps its opener, the admin console and the landing pages have none (Cross-Origin-Opener-Policy).
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { chromium } from 'playwright-core';
import { discoverHub, buildAuthorizationRequest, startFederation } from './federation.mjs';
import { startServer } from './harness.mjs';

const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium';
const skip = existsSync(executablePath) ? false : `no browser at ${executablePath}; set CHROMIUM`;
const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];

let federation, client, browser, site;
before(async () => {
  if (skip) return;
  federation = await startFederation('hub-opener');
  client = await discoverHub(federation.hub, federation.sp);
  site = await startServer((asked, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><title>site</title><h1>A site</h1>'));
  browser = await chromium.launch({ executablePath, args: FLAGS });
});
after(async () => {
  await browser?.close();
  await site?.close();
  await federation?.stop();
});

/** Opens `address` from the site in a pop-up; returns the pop-up, and what the site can observe of it. */
async function open(address, prepare = async () => {}) {
  const context = await browser.newContext({ locale: 'en-GB' });
  await prepare(context);
  const page = await context.newPage();
  await page.goto(`http://127.0.0.1:${site.port}/`);
  const [popup] = await Promise.all([
    context.waitForEvent('page'),
    page.evaluate((target) => { globalThis.popup = globalThis.open(target, 'login', 'width=500,height=700'); }, address),
  ]);
  await popup.waitForLoadState();
  return { context, popup, sees: () => page.evaluate(() => !globalThis.popup.closed), seen: () => popup.evaluate(() => globalThis.opener !== null) };
}

test("a service provider's pop-up keeps its opener through the login's pages", { skip }, async () => {
  const authorization = await buildAuthorizationRequest(client, federation.sp);
  const { context, popup, sees, seen } = await open(String(authorization.url));
  assert.ok(popup.url().includes('/interaction/'), popup.url());
  assert.deepEqual([await sees(), await seen()], [true, true], 'choice page');
  // A refusal of the authorization request is a page of the login too.
  await popup.goto(`${federation.hub.issuer}/authorize?client_id=unknown`);
  assert.deepEqual([await sees(), await seen()], [true, true], 'error page');
  await context.close();
});

test('the landing pages of the hub have no opener', { skip }, async () => {
  for (const address of [`${federation.hub.issuer}/session/end`, `${federation.hub.base}/nothing-is-here`]) {
    const { context, sees, seen } = await open(address);
    assert.deepEqual([await sees(), await seen()], [false, false], address);
    await context.close();
  }
});

test('the admin console has no opener, signed in or not', { skip }, async () => {
  const token = readFileSync(path.join(federation.hub.folder, 'admin.token'), 'utf8').trim();
  const { context, popup, sees, seen } = await open(`${federation.hub.privateBase}/admin/`);
  assert.deepEqual([await sees(), await seen()], [false, false], 'sign-in page');
  await popup.fill('input[name=token]', token);
  await Promise.all([popup.waitForNavigation(), popup.click('button')]);
  assert.match(await popup.content(), /identity providers/i);
  assert.deepEqual([await sees(), await seen()], [false, false], 'overview');
  await context.close();
});
