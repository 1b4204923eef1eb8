// A real browser (Chromium by playwright-core) at the demo: both languages, two sizes, keyboard, no script, and the
// attacks that need a browser. Screenshots stay in the artifacts; axe-core looks at each page.
import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import * as oidc from 'openid-client';
import { chromium } from 'playwright-core';
import { discoverHub, buildAuthorizationRequest, startFederation, fetchUserinfo } from './federation.mjs';
import { random, startServer, startDemo, skipUnlessAll } from './harness.mjs';
import { activateByKeyboard, checkPage } from './page-checks.mjs';

const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];
const DESKTOP = { width: 1280, height: 900 };
const PHONE = { width: 390, height: 844 };
const LIMIT = 15_000;

let demo, browser;
before(async () => {
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: FLAGS });
  demo = await startDemo();
});
after(async () => {
  await browser?.close();
  await demo?.stop();
});

/** A fresh browser profile with one page. */
async function visit({ locale = 'en-GB', viewport = DESKTOP, ...more } = {}) {
  // The content policy of the pages forbids injected scripts, axe-core's too; another test reads the policy itself.
  const context = await browser.newContext({ locale, viewport, bypassCSP: true, ...more });
  context.setDefaultTimeout(LIMIT);
  const page = await context.newPage();
  return { context, page };
}

const buttons = {
  choice: (page) => page.locator('form[action$="/provider"] button').first(),
  // The sandbox's main form: the one where a person is picked.
  sandbox: (page) => page.locator('form:has(input[type=radio]) button.main, form:has(input[type=radio]) button[type=submit]').first(),
  consent: (page) => page.locator('form[action$="/consent"] button[value=yes]'),
};
/** The demo service provider's buttons: standard first, then high with eidas2 and eidas3. */
const startButton = (page, level = 'eidas1') => page.locator(`form[action="/login"]:has(input[value=${level}]) button`).first();
const home = () => new URL(demo.url).origin;
const atHome = (page) => page.waitForURL((url) => url.origin === home(), { timeout: LIMIT });

/** From the demo service provider to the consent page; `press` is how a button is used. */
async function toConsent(page, press, seen = async () => {}, level = 'eidas1') {
  await page.goto(demo.url);
  await seen('1-service');
  await press(startButton(page, level));
  await buttons.choice(page).waitFor();
  await seen('2-choice');
  await press(buttons.choice(page));
  await buttons.sandbox(page).waitFor();
  await seen('3-sandbox');
  await press(buttons.sandbox(page));
  await buttons.consent(page).waitFor();
  await seen('4-consent');
}
const click = (target) => target.click();
/** The demo's last page: back at the service provider, signed in. */
async function assertSignedIn(page, level = 'eidas1') {
  await atHome(page);
  const text = await page.locator('main').innerText();
  assert.ok(text.includes(`"acr": "${level}"`), text);
  assert.match(text, /sub/);
  // Both tokens' headers stand there: of the signature, and on high of the encryption around it.
  assert.equal(text.match(/"alg": "ES256"/g).length, 2);
  assert.equal(text.match(/"enc": "A256GCM"/g)?.length ?? 0, level === 'eidas1' ? 0 : 2);
  // And what the data provider that was called with the access token learned of it.
  assert.ok(text.includes('"active": true') && text.includes(`"aud": "demo-data${level === 'eidas1' ? '' : '-high'}"`), text);
}

const runs = [
  { name: 'fr-desktop', locale: 'fr-FR', viewport: DESKTOP, lang: 'fr', press: click, skip: skipUnlessAll },
  { name: 'en-phone', locale: 'en-GB', viewport: PHONE, lang: 'en', press: click, skip: skipUnlessAll },
  { name: 'fr-phone', locale: 'fr-FR', viewport: PHONE, lang: 'fr', press: click },
  { name: 'en-desktop-keyboard', locale: 'en-GB', viewport: DESKTOP, lang: 'en', press: activateByKeyboard },
];
for (const { name, locale, viewport, lang, press, skip } of runs) {
  test(`R001: someone signs in through the demo: ${name}`, { skip }, async () => {
    const { context, page } = await visit({ locale, viewport });
    const seen = async (step) => {
      assert.equal((await page.locator('html').getAttribute('lang')).slice(0, 2), lang, step);
      await checkPage(page, `${name}-${step}`);
    };
    await toConsent(page, press, seen);
    await press(buttons.consent(page));
    await assertSignedIn(page);
    await seen('5-signed-in');
    await context.close();
  });
}

const highRuns = [
  { name: 'high-fr-phone', locale: 'fr-FR', viewport: PHONE, level: 'eidas2', press: click },
  { name: 'high-en-desktop', locale: 'en-GB', viewport: DESKTOP, level: 'eidas3', press: click, skip: skipUnlessAll },
];
for (const { name, locale, viewport, level, press, skip } of highRuns) {
  test(`R001 R005 R007: someone signs in through the demo on the high platform: ${name}`, { skip }, async () => {
    const { context, page } = await visit({ locale, viewport });
    const seen = (step) => checkPage(page, `${name}-${step}`);
    await toConsent(page, press, async (step) => {
      await seen(step);
      if (step === '3-sandbox') {
        assert.ok(await page.locator(`input[name=level][value=${level}]`).isChecked(), 'the level asked is picked already');
        // Too low a level: refused, said so, and the person may go on.
        await page.locator('input[name=level][value=eidas1]').check();
        await press(buttons.sandbox(page));
        await page.locator('.note.bad').waitFor();
        await seen('3-too-low');
        await press(buttons.choice(page));
        await buttons.sandbox(page).waitFor();
        for (const method of ['pwd', 'otp']) await page.locator(`input[name=method][value=${method}]`).check();
      }
    }, level);
    await press(buttons.consent(page));
    await assertSignedIn(page, level);
    assert.match(await page.locator('main').innerText(), /"mfa"/);
    await seen('5-signed-in');
    await context.close();
  });
}

test('R011: two tabs at once, one on each platform, end each with their own level', async () => {
  const { context, page: standard } = await visit();
  const high = await context.newPage();
  const tabs = [[standard, 'eidas1'], [high, 'eidas2']];
  for (const [tab] of tabs) await tab.goto(demo.url);
  for (const [tab, level] of tabs) await startButton(tab, level).click();
  for (const [tab] of tabs.toReversed()) await buttons.choice(tab).click();
  for (const [tab] of tabs) await buttons.sandbox(tab).click();
  for (const [tab, level] of tabs.toReversed()) {
    await buttons.consent(tab).click();
    await assertSignedIn(tab, level);
  }
  await context.close();
});

test('someone signs in with JavaScript switched off', async () => {
  const { context, page } = await visit({ javaScriptEnabled: false });
  await toConsent(page, click);
  await buttons.consent(page).click();
  await assertSignedIn(page);
  await context.close();
});

// Every state of the choice page, hundreds of identity providers among them; the unit tests write them there.
const gallery = path.resolve(import.meta.dirname, '../../target/pages');
test('the choice page is accessible in each of its states, wide and narrow, light and dark', { skip: existsSync(gallery) ? false : 'cargo test writes the gallery' }, async () => {
  const sights = [
    { name: 'light', lang: 'fr', viewport: DESKTOP, colorScheme: 'light' },
    { name: 'dark', lang: 'en', viewport: { width: 320, height: 640 }, colorScheme: 'dark' },
  ];
  for (const { name, lang, ...sight } of sights) {
    const { context, page } = await visit(sight);
    const files = readdirSync(path.join(gallery, lang)).filter((file) => file.startsWith('choice-'));
    assert.ok(files.length > 15, `${files}`);
    for (const file of files) {
      await page.goto(`file://${path.join(gallery, lang, file)}`);
      await checkPage(page, `gallery-${name}-${file.slice(0, -'.html'.length)}`);
    }
    await context.close();
  }
});

test('the pages live under their own content policy: nothing is blocked, nothing comes from elsewhere', async () => {
  const context = await browser.newContext({ locale: 'en-GB' });
  context.setDefaultTimeout(LIMIT);
  const page = await context.newPage();
  const faults = [];
  page.on('console', (message) => { if (['error', 'warning'].includes(message.type())) faults.push(message.text()); });
  page.on('pageerror', (error) => faults.push(String(error)));
  page.on('request', (r) => { if (!['localhost', '127.0.0.1'].includes(new URL(r.url()).hostname)) faults.push(`asked ${r.url()}`); });
  await toConsent(page, click);
  await buttons.consent(page).click();
  await assertSignedIn(page);
  assert.deepEqual(faults.filter((f) => !/favicon/.test(f)), []);
  await context.close();
});

test('R117: a callback from another browser is refused, and its owner still finishes', async () => {
  const [owner, thief] = [await visit(), await visit()];
  await owner.page.goto(demo.url);
  await startButton(owner.page).click();
  await buttons.choice(owner.page).click();
  await buttons.sandbox(owner.page).waitFor();
  let callback;
  await owner.page.route(/\/api\/v2\/callback\//, (route) => { callback = route.request().url(); return route.abort(); });
  // A navigation that follows a redirect is not offered to `route`; the request event sees each hop.
  owner.page.on('request', (r) => { if (/\/api\/v2\/callback\//.test(r.url())) callback ??= r.url(); });
  await buttons.sandbox(owner.page).click();
  await buttons.consent(owner.page).waitFor().catch(() => {});
  assert.ok(callback, 'no callback was seen');
  const answer = await thief.page.goto(callback);
  assert.ok(answer.status() >= 400 && answer.status() < 500, String(answer.status()));
  assert.ok(!thief.page.url().startsWith(home()), 'the thief reached the service provider');
  await checkPage(thief.page, 'attack-other-browser');
  await owner.page.unroute(/\/api\/v2\/callback\//);
  if (!await buttons.consent(owner.page).isVisible()) await owner.page.goto(callback);
  await buttons.consent(owner.page).click();
  await assertSignedIn(owner.page);
  await Promise.all([owner.context.close(), thief.context.close()]);
});

test('a POST authorize from another site touches nothing the browser has', async () => {
  const { context, page } = await visit();
  let asked;
  page.on('request', (r) => { if (/\/api\/v2\/authorize\?/.test(r.url())) asked ??= r.url(); });
  await toConsent(page, click);
  assert.ok(asked, 'no authorization request was seen');
  const before = await context.cookies(asked);
  // `localhost` and `127.0.0.1` are two sites; the attacker's page posts an authorization request by itself.
  const [address, query] = asked.split('?');
  const inputs = [...new URLSearchParams(query)].map(([n, v]) => {
    const long = ['state', 'nonce'].includes(n) ? v.padEnd(40, 'x') : v;
    return `<input type="hidden" name="${n}" value="${long.replaceAll('&', '&amp;').replaceAll('"', '&quot;')}">`;
  });
  const attacker = await startServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/html' });
    response.end(`<form method="post" action="${address}">${inputs.join('')}</form><script>document.forms[0].submit()</script>`);
  });
  try {
    const tab = await context.newPage();
    await tab.goto(`http://127.0.0.1:${attacker.port}/`);
    await tab.waitForURL(/\/interaction\//);
    const now = await context.cookies(asked);
    for (const cookie of before) {
      assert.equal(now.find((c) => c.name === cookie.name)?.value, cookie.value, 'a cookie of the login in progress changed');
    }
    await page.bringToFront();
    await buttons.consent(page).click();
    await assertSignedIn(page);
  } finally {
    await attacker.close();
    await context.close();
  }
});

test('a double-clicked consent gives one code', async () => {
  const { context, page } = await visit();
  const codes = new Set();
  page.on('request', (r) => {
    const url = new URL(r.url());
    if (url.origin === home() && url.searchParams.has('code')) codes.add(url.searchParams.get('code'));
  });
  await toConsent(page, click);
  await buttons.consent(page).dblclick();
  await assertSignedIn(page);
  assert.equal(codes.size, 1);
  await context.close();
});

test('the back button leads somewhere that goes on', async () => {
  const { context, page } = await visit();
  await toConsent(page, click);
  await page.goBack(); // the sandbox's page
  await page.goBack(); // the choice
  await checkPage(page, 'back-at-choice');
  // All is known about this login by now: the choice shows where it stands, which is the consent page.
  await buttons.consent(page).click();
  await assertSignedIn(page);
  // Back from the service provider to a step that is done: a page, or the service provider again; never a second code.
  await page.goBack().catch(() => {});
  assert.equal(await page.locator('h1').count(), 1);
  await context.close();
});

/** Names of the session cookies that the browser holds of hubs: the demo's, and its identity providers'. */
const sessions = async (context) => (await context.cookies()).map(({ name }) => name).filter((name) => name.endsWith('-session') && name !== 'demo-service-session').sort();
const signOut = (page) => page.locator('form[action="/logout"] button');

for (const { level, suffix } of [{ level: 'eidas1', suffix: '' }, { level: 'eidas2', suffix: '-high' }]) {
  test(`R171 R173 R175 R176: signing out of the demo ends every session there is: ${level}`, async () => {
    const { context, page } = await visit({ locale: 'fr-FR' });
    await toConsent(page, click, async (step) => {
      if (step === '3-sandbox') await page.locator(`input[name=level][value=${level}]`).check();
    }, level);
    await buttons.consent(page).click();
    await assertSignedIn(page, level);
    assert.deepEqual(await sessions(context), [`demo-amandier${suffix}-session`, `demo-hub${suffix}-session`]);
    await signOut(page).click();
    await startButton(page, level).waitFor();
    assert.equal(page.url(), `${home()}/?lang=fr`);
    assert.deepEqual(await sessions(context), []);
    await startButton(page, level).click();
    await buttons.choice(page).waitFor();
    await context.close();
  });
}

for (const { locale, viewport } of [{ locale: 'fr-FR', viewport: PHONE }, { locale: 'en-GB', viewport: DESKTOP }]) {
  test(`a user who signs out without a service is asked, and sees the result: ${locale}`, async () => {
    const { context, page } = await visit({ locale, viewport });
    let hub;
    await toConsent(page, click, async (step) => { if (step === '2-choice') hub = new URL(page.url()).origin; });
    await buttons.consent(page).click();
    await assertSignedIn(page);
    await page.goto(`${hub}/api/v2/session/end`);
    await checkPage(page, `log-out-${locale}`);
    await page.locator('form[action$="/session/end/confirm"] button').click();
    await page.waitForURL(/\/session\/end\/amandier\?state=/);
    await checkPage(page, `logged-out-${locale}`);
    assert.deepEqual(await sessions(context), []);
    await page.goto(`${hub}/api/v2/session/end?post_logout_redirect_uri=https://evil.example/`);
    await checkPage(page, `log-out-refused-${locale}`);
    assert.match(await page.locator('main').innerText(), /Y190101/);
    await page.locator('main a.main').click();
    assert.equal(page.url(), `${hub}/api/v2/session/end`);
    await context.close();
  });
}

test('R170 R171 R172: a logout posted from another host name goes through a real provider and back', async () => {
  // `localhost` and `127.0.0.1` are two sites: the POST carries no cookie of the hub's.
  let leaving = '';
  const far = await startServer((asked, response) => {
    response.writeHead(200, { 'content-type': 'text/html' });
    response.end(asked.url === '/leave' ? leaving : '<!doctype html><title>far</title><h1>far</h1>');
  });
  const at127 = (way) => `http://127.0.0.1:${far.port}${way}`;
  const federation = await startFederation('hub-two-hosts', { far: { redirectUri: at127('/callback'), postLogoutUri: at127('/out') } });
  const { context, page } = await visit();
  try {
    const client = await discoverHub(federation.hub, federation.far);
    const authorization = await buildAuthorizationRequest(client, federation.far);
    await page.goto(authorization.url);
    await buttons.choice(page).click();
    await page.locator('input[name=login]').waitFor();
    await page.locator('button').click();
    await buttons.consent(page).click();
    await page.waitForURL(at127('/callback**'));
    const tokens = await oidc.authorizationCodeGrant(client, new URL(page.url()), {
      pkceCodeVerifier: authorization.verifier, expectedState: authorization.state, expectedNonce: authorization.nonce, idTokenExpected: true,
    });
    const state = random();
    const fields = Object.entries({ id_token_hint: tokens.id_token, post_logout_redirect_uri: at127('/out'), state });
    const inputs = fields.map(([name, value]) => `<input type="hidden" name="${name}" value="${value}">`).join('');
    leaving = `<form method="post" action="${client.serverMetadata().end_session_endpoint}">${inputs}</form><script>document.forms[0].submit()</script>`;
    const seen = [];
    page.on('request', (r) => { if (r.isNavigationRequest()) seen.push(`${r.method()} ${new URL(r.url()).pathname}${/pending=/.test(r.url()) ? ' pending' : ''}`); });
    await page.goto(at127('/leave')).catch(() => {}); // the page leaves while it loads
    await page.locator('button[value=yes]').click();
    await page.waitForURL(at127('/out**'));
    assert.deepEqual([...new URL(page.url()).searchParams], [['state', state]]);
    assert.ok(seen.includes('POST /api/v2/session/end') && seen.includes('GET /api/v2/session/end pending'), seen.join('\n'));
    assert.deepEqual(await sessions(context), []);
    assert.equal((await fetchUserinfo(federation.hub, tokens.access_token)).status, 401);
    assert.deepEqual(federation.idp.faults, []);
  } finally {
    await context.close();
    await federation.stop();
    await far.close();
  }
});
