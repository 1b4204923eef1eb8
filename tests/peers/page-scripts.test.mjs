// The scripts of the pages, alone in a real browser with a clock of its own: what they add, and how a person stops them.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { chromium } from 'playwright-core';
import { startServer } from './harness.mjs';

const script = (name, crate = 'web/src/pages') => readFileSync(new URL(`../../crates/${crate}/templates/${name}`, import.meta.url), 'utf8');
const WAIT = `<!doctype html><p id="retry" data-after="12" hidden><span>again</span> <button type="button">stop</button></p>
<a class="button main" href="/wait?again">Try again</a><script>${script('retry.js')}</script>`;
const PASSWORD = `<!doctype html><form method="post"><input type="password" id="password" name="password">
<button type="button" id="show" data-hide="Hide" hidden>Show</button><button class="main">Go</button></form><script>${script('show_password.js')}</script>`;
// As the hub's page has it, under the hub's Content-Security-Policy.
const WALLET = `<!doctype html><form method="post" action="/wallet/digital-credential" id="digital-credential" data-request="e30.e30.sig" hidden>
<input type="hidden" name="csrf" value="c"><input type="hidden" name="response"><input type="hidden" name="error">
<p class="note" role="status" hidden>nothing was sent</p><button type="button">Choose</button></form>
<script nonce="n">${script('digital_credentials.js', 'openid4vp/src')}</script>`;
const POLICY = "default-src 'none'; script-src 'nonce-n'; base-uri 'none'; frame-ancestors 'none'";
const PAGES = { wait: WAIT, password: PASSWORD, wallet: WALLET };

let browser, site, visits, posted;
before(async () => {
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu'] });
  site = await startServer((request, response) => {
    if (request.url.startsWith('/wait')) visits.push(request.url);
    if (request.method === 'POST') {
      let body = '';
      request.on('data', (part) => { body += part; }).on('end', () => posted.push(Object.fromEntries(new URLSearchParams(body))));
    }
    const name = request.url.split(/[/?]/)[1];
    const policy = name === 'wallet' ? { 'content-security-policy': POLICY } : {};
    response.writeHead(200, { 'content-type': 'text/html', ...policy }).end(PAGES[name]);
  });
});
after(async () => {
  await browser?.close();
  await site?.close();
});

async function open(path, { init, ...options } = {}) {
  visits = [];
  posted = [];
  const context = await browser.newContext(options);
  const page = await context.newPage();
  if (init) await page.addInitScript(init);
  if (options.javaScriptEnabled !== false) await page.clock.install();
  await page.goto(`http://127.0.0.1:${site.port}${path}`);
  return { context, page };
}

test('a page that must wait repeats its request after the time it names, five times, and then leaves it to the person', async () => {
  const { context, page } = await open('/wait');
  assert.ok(await page.locator('#retry').isVisible());
  await page.clock.runFor(11_900);
  assert.equal(visits.length, 1, 'never before the time');
  for (let tries = 1; tries <= 5; tries += 1) {
    // Each try waits longer, and up to half as long again, so that browsers do not come back at once.
    await Promise.all([page.waitForURL('**/wait?again'), page.clock.runFor(12_000 * tries * 1.5 + 1000)]);
    await page.locator('a.main').waitFor();
    while (visits.length < tries + 1) await page.waitForTimeout(20);
  }
  await page.waitForLoadState();
  assert.ok(await page.locator('#retry').isHidden(), 'after five tries the button remains');
  await page.clock.runFor(600_000);
  assert.equal(visits.length, 6);
  await context.close();
});

test('a person can stop it, and the button has the focus', async () => {
  const { context, page } = await open('/wait');
  await page.locator('#retry button').click();
  assert.ok(await page.locator('#retry').isHidden());
  assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Try again');
  await page.clock.runFor(600_000);
  assert.equal(visits.length, 1);
  await context.close();
});

test('without script the page stays, with its button', async () => {
  const { context, page } = await open('/wait', { javaScriptEnabled: false });
  assert.ok(await page.locator('#retry').isHidden());
  await page.locator('a.main').click();
  assert.deepEqual(visits, ['/wait', '/wait?again']);
  await context.close();
});

test('the password is shown and hidden by a button, and never sent as text', async () => {
  const { context, page } = await open('/password');
  const field = page.locator('#password');
  const button = page.locator('#show');
  await button.click();
  assert.deepEqual([await field.getAttribute('type'), await button.innerText()], ['text', 'Hide']);
  await button.click();
  assert.deepEqual([await field.getAttribute('type'), await button.innerText()], ['password', 'Show']);
  await button.click();
  await page.evaluate(() => addEventListener('submit', (event) => event.preventDefault()));
  await page.locator('button.main').click();
  assert.equal(await field.getAttribute('type'), 'password', 'so that no password manager or form history keeps it as text');
  await context.close();
  const plain = await open('/password', { javaScriptEnabled: false });
  assert.ok(await plain.page.locator('#show').isHidden());
  await plain.context.close();
});

// A browser with the Digital Credentials API: `answer` is what its wallet does.
const api = (answer, allows = 'true') => `
  window.DigitalCredential = class { static userAgentAllowsProtocol() { return ${allows}; } };
  window.asked = [];
  navigator.credentials.get = async (options) => { window.asked.push(options); return (${answer})(); };`;

test('a browser with the Digital Credentials API asks the wallet and posts its answer', async () => {
  for (const data of ['{ response: "a.b.c.d.e" }', 'JSON.stringify({ response: "a.b.c.d.e" })']) {
    const { context, page } = await open('/wallet', { init: api(`() => ({ protocol: "openid4vp-v1-signed", data: ${data} })`) });
    await page.evaluate(() => { window.asked = []; HTMLFormElement.prototype.submit = function () { window.sent = Object.fromEntries(new FormData(this)); }; });
    await page.locator('button').click();
    await page.waitForFunction(() => window.sent);
    assert.deepEqual(await page.evaluate(() => window.asked), [{
      mediation: 'required',
      digital: { requests: [{ protocol: 'openid4vp-v1-signed', data: { request: 'e30.e30.sig' } }] },
    }]);
    assert.deepEqual(await page.evaluate(() => window.sent), { csrf: 'c', response: 'a.b.c.d.e', error: '' });
    await context.close();
    // And really, under the policy of the page.
    const real = await open('/wallet', { init: api(`() => ({ protocol: "openid4vp-v1-signed", data: ${data} })`) });
    await Promise.all([real.page.waitForURL('**/digital-credential'), real.page.locator('button').click()]);
    assert.deepEqual(posted, [{ csrf: 'c', response: 'a.b.c.d.e', error: '' }]);
    await real.context.close();
  }
});

test('an error of the wallet is posted, and an answer without either is one', async () => {
  for (const [data, error] of [['{ error: "access_denied" }', 'access_denied'], ['{}', 'server_error']]) {
    const { context, page } = await open('/wallet', { init: api(`() => ({ protocol: "openid4vp-v1-signed", data: ${data} })`) });
    await Promise.all([page.waitForURL('**/digital-credential'), page.locator('button').click()]);
    assert.deepEqual(posted, [{ csrf: 'c', response: '', error }]);
    await context.close();
  }
});

test('a person who closes the dialog stays on the page and can try again', async () => {
  const { context, page } = await open('/wallet', { init: api('() => Promise.reject(new DOMException("no", "NotAllowedError"))') });
  await page.locator('button').click();
  await page.locator('.note').waitFor();
  assert.ok(await page.locator('button').isEnabled());
  await page.locator('button').click();
  await page.waitForFunction(() => window.asked.length === 2);
  assert.deepEqual([posted, page.url().endsWith('/wallet')], [[], true]);
  await context.close();
});

test('without the API, the protocol or script the page offers nothing more', async () => {
  const answer = '() => { throw new Error("asked"); }';
  for (const options of [
    { init: 'delete window.DigitalCredential' },
    { init: api(answer, 'false') },
    { javaScriptEnabled: false },
  ]) {
    const { context, page } = await open('/wallet', options);
    assert.ok(await page.locator('button').isHidden(), JSON.stringify(options));
    await context.close();
  }
});
