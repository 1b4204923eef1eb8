// Attack: a sibling host answers over plain http with a cookie for the whole domain, whose name is a space of Unicode and one of the
// hub's `__Host-` names. Browsers store and send it; the hub must not read it as its own cookie. A real browser, two host names.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import https from 'node:https';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { chromium } from 'playwright-core';
import { freePorts, random, startHub, startServer } from './harness.mjs';

const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium';
const skip = existsSync(executablePath) ? false : `no browser at ${executablePath}; set CHROMIUM`;
const FLAGS = [
  '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync',
  '--host-resolver-rules=MAP *.example.test 127.0.0.1',
];
/** Spaces of Unicode that str::trim removes. */
const SPACES = ['\u2000', '\u00a0', '\u3000', '\u0085', '\u2028'];
/** The sandbox, and Angela, who is in the harness's register. */
const SANDBOX = 'name = { en = "Sandbox" }\nidentity = "verified"\nlevels = { lowest = "eidas1", highest = "eidas1" }\n[kind.persona]\n';

const folder = mkdtempSync(path.join(tmpdir(), 'passerelle-cookie-prefix-'));
/** Cookie headers that reached the hub, as bytes in Latin-1. */
const cookieHeaders = [];
let hub, proxy, sibling, browser, sp;
before(async () => {
  if (skip) return;
  const [port, privatePort, tls] = await freePorts(3);
  const base = `https://login.example.test:${tls}`;
  sp = { id: 'alpha', secret: random(32), redirectUri: `${base}/sp/callback` };
  hub = await startHub('hub-cookie-prefix', {
    port, privatePort, base, settings: 'sandbox = true\nsandbox_public = true',
    sps: [{ ...sp, redirectUris: [sp.redirectUri] }],
    connectors: { sandbox: SANDBOX },
  });
  const [key, cert] = ['key.pem', 'cert.pem'].map((name) => path.join(folder, name));
  execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2', '-subj', '/CN=login.example.test', '-keyout', key, '-out', cert], { stdio: 'pipe' });
  proxy = https.createServer({ key: readFileSync(key), cert: readFileSync(cert) }, (incoming, outgoing) => {
    cookieHeaders.push(incoming.headers.cookie ?? '');
    const forwarded = httpRequest({ host: '127.0.0.1', port, method: incoming.method, path: incoming.url, headers: incoming.headers }, (answer) => {
      outgoing.writeHead(answer.statusCode, answer.rawHeaders);
      answer.pipe(outgoing);
    });
    incoming.pipe(forwarded.on('error', () => outgoing.destroy()));
  });
  await new Promise((resolve) => { proxy.listen(tls, '127.0.0.1', resolve); });
  // The sibling host sets what its query asks for, in the bytes of UTF-8.
  sibling = await startServer((incoming, outgoing) => {
    const cookie = new URL(incoming.url, 'http://shop.example.test').searchParams.get('set');
    outgoing.writeHead(200, { 'content-type': 'text/html', ...(cookie && { 'set-cookie': Buffer.from(`${cookie}; Domain=example.test; Path=/`).toString('latin1') }) });
    outgoing.end('<!doctype html><title>shop</title>');
  });
  browser = await chromium.launch({ executablePath, args: FLAGS });
});
after(async () => {
  await browser?.close();
  await sibling?.close();
  proxy?.closeAllConnections();
  proxy?.close();
  await hub?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const newPage = async () => (await browser.newContext({ ignoreHTTPSErrors: true, locale: 'en-GB' })).newPage();
const authorizeUrl = (more = {}) => `${hub.issuer}/authorize?${new URLSearchParams({
  response_type: 'code', client_id: sp.id, redirect_uri: sp.redirectUri, scope: 'openid', acr_values: 'eidas1', state: random(32), nonce: random(32), ...more,
})}`;
const cookieOf = async (page, part) => (await page.context().cookies()).find(({ name }) => name.startsWith(`__Host-passerelle-${part}`));
/** Lets the sibling host set a cookie in the page's browser. */
const plant = (page, cookie) => page.goto(`http://shop.example.test:${sibling.port}/?${new URLSearchParams({ set: cookie })}`);
/** Fails if no request with exactly this cookie reached the hub: then the browser has stopped the attack, and not the hub. */
const assertSent = (cookie) => {
  const bytes = Buffer.from(cookie).toString('latin1');
  assert.ok(cookieHeaders.some((header) => header.includes(bytes)), `the browser did not send ${JSON.stringify(cookie)}: ${cookieHeaders.at(-1)}`);
};

test("a planted login cookie does not hand the attacker's login to the victim's browser", { skip }, async () => {
  const attacker = await newPage();
  await attacker.goto(authorizeUrl());
  assert.match(attacker.url(), /\/interaction\//);
  const { name, value } = await cookieOf(attacker, 'login-');
  for (const space of SPACES) {
    const victim = await newPage();
    const planted = `${space}${name}=${value}`;
    await plant(victim, planted);
    cookieHeaders.length = 0;
    const answer = await victim.goto(attacker.url());
    assertSent(planted);
    assert.equal(answer.status(), 403, `U+${space.codePointAt(0).toString(16)}`);
    assert.match(await victim.content(), /Y420002/);
    await victim.context().close();
  }
  // A browser itself refuses the name without the space.
  const victim = await newPage();
  await plant(victim, `${name}=${value}`);
  assert.equal((await victim.goto(attacker.url())).status(), 403);
  await victim.context().close();
  await attacker.context().close();
});

test("a planted session cookie does not sign the victim in as the attacker", { skip }, async () => {
  const attacker = await newPage();
  await attacker.goto(authorizeUrl());
  await attacker.locator('button[name=provider]').first().click();
  await attacker.waitForURL(/\/sandbox\//);
  await attacker.locator('input[name=person][value=angela]').check({ force: true });
  await attacker.locator('form[action^="/sandbox/"] button').click();
  assert.match(attacker.url(), /\/consent#?$/, await attacker.locator('main').innerText());
  await attacker.locator('button[name=answer][value=yes]').click();
  await attacker.waitForURL(/\/sp\/callback/);
  const session = await cookieOf(attacker, 'session');
  assert.ok(session, 'the attacker has a session');

  const victim = await newPage();
  const planted = `\u2000${session.name}=${session.value}`;
  await plant(victim, planted);
  cookieHeaders.length = 0;
  await victim.goto(authorizeUrl({ prompt: 'none' }));
  assertSent(planted);
  assert.equal(new URL(victim.url()).searchParams.get('error'), 'login_required', victim.url());
  await attacker.goto(authorizeUrl({ prompt: 'none' }));
  assert.ok(new URL(attacker.url()).searchParams.has('code'), `the session is valid: ${attacker.url()}`);
  await Promise.all([victim.context().close(), attacker.context().close()]);
});
