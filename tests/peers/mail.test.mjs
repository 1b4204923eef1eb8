// Mail through a real SMTP server (mail-server/server.py): `passerelle check --online` with each fault of a server, and logins in
// Chromium that need a code by mail. PYTHON names an interpreter with python-sp/requirements.txt (tests/install makes one).
import assert from 'node:assert/strict';
import { execFile, execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import * as oidc from 'openid-client';
import { chromium } from 'playwright-core';
import { buildAuthorizationRequest, discoverHub, startFederation } from './federation.mjs';
import { configure, freePorts, listens, program, random, root, waitUntil } from './harness.mjs';
import { checkPage } from './page-checks.mjs';

const python = process.env.PYTHON ?? 'python3';
const certificates = mkdtempSync(path.join(tmpdir(), 'passerelle-mail-'));
const at = (name) => path.join(certificates, name);
const servers = {};
const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];
let federation, browser;

function issue(name) {
  execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2', '-keyout', at(`${name}.key`), '-out', at(`${name}.crt`), '-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost', '-addext', 'basicConstraints=critical,CA:FALSE'], { stdio: 'pipe' });
}

before(async () => {
  issue('server');
  issue('stranger');
  const ports = await freePorts(3);
  for (const [index, security] of ['starttls', 'implicit', 'none'].entries()) {
    const server = { port: ports[index], output: '' };
    server.child = spawn(python, [path.join(root, 'tests/peers/mail-server/server.py'), server.port, security, at('server.crt'), at('server.key')]);
    server.child.stdout.on('data', (chunk) => { server.output += chunk; });
    servers[security] = server;
  }
  for (const { port } of Object.values(servers)) await waitUntil(() => listens(port), 'the start of the mail server');
  federation = await startFederation('mail', { careful: { extra: 'mail_code = true' } }, {
    amr: ['pwd'], settings: mailTable(`smtp://localhost:${servers.starttls.port}`, { more: 'mails_per_address = 20\nmails_per_person = 20' }), files: { 'mail.password': 'right' },
  });
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: FLAGS });
});
after(async () => {
  await browser?.close();
  await federation?.stop();
  for (const { child } of Object.values(servers)) child.kill();
  rmSync(certificates, { recursive: true });
});

function mailTable(url, { to = 'operator', ca = 'server', password = 'right', more = '' } = {}) {
  const account = password && 'username = "hub"\npassword = { file = "mail.password" }';
  return `[mail]\nurl = "${url}"\n${account}\nfrom = "hub@example.org"\ntest_recipient = "${to}@example.org"\nca = "${at(`${ca}.crt`)}"\ninternal_hosts = ["localhost"]\n${more}`;
}

/** The exit code of `check --online` with this table, and its line about mail. */
async function check(url, { password = 'right', ...options } = {}) {
  const [port, privatePort] = await freePorts(2);
  const settings = mailTable(url, { password, ...options });
  const sps = [{ id: 'sp', secret: random(), redirectUris: ['http://localhost:1/callback'] }];
  const { folder, remove } = configure({ port, privatePort, sps, connectors: {}, settings, files: { 'mail.password': password } });
  return new Promise((resolve) => {
    execFile(program, ['check', '--config', folder, '--online'], (error, stdout, stderr) => {
      remove();
      resolve({ code: error?.code ?? 0, line: /^mail: .*$/m.exec(stdout)?.[0] ?? stdout + stderr });
    });
  });
}

for (const [security, scheme] of [['starttls', 'smtp'], ['implicit', 'smtps']]) {
  test(`a mail arrives over TLS: ${security}`, async () => {
    const server = servers[security];
    const { code, line } = await check(`${scheme}://localhost:${server.port}`);
    assert.match(line, /accepted the mail/);
    assert.equal(code, 0, line);
    const mail = JSON.parse(server.output.trim().split('\n').at(-1));
    assert.deepEqual([mail.from, mail.to, mail.tls], ['hub@example.org', ['operator@example.org'], true]);
    assert.match(mail.content, /^Subject: /m);
    assert.match(mail.content, /^Content-Type: multipart\/alternative/m);
  });
}

test('every fault of a mail server is named, and no mail goes out without TLS', async () => {
  const [closed] = await freePorts(1);
  const starttls = `smtp://localhost:${servers.starttls.port}`;
  const before = Object.values(servers).map(({ output }) => output);
  for (const [url, options, expected] of [
    [starttls, { to: 'greylisted' }, /defers the mail with 451/],
    [starttls, { to: 'busy' }, /defers the mail with 452/],
    [starttls, { to: 'unknown' }, /rejects the mail with 550/],
    [starttls, { to: 'slow' }, /did not answer in time/],
    [starttls, { password: 'wrong' }, /answers the account with 535/],
    [starttls, { ca: 'stranger' }, /TLS failed/],
    [`smtp://localhost:${servers.none.port}`, {}, /offers no STARTTLS, so nothing was sent/],
    [`smtp://localhost:${closed}`, {}, /can't be reached/],
    [`smtp://mail.example.org`, { more: 'insecure_smtp = true' }, /another machine without TLS/],
  ]) {
    const { code, line } = await check(url, options);
    assert.match(line, expected);
    assert.equal(code, 1, line);
  }
  assert.deepEqual(Object.values(servers).map(({ output }) => output), before, 'a mail was accepted');
  const loopback = await check(`smtp://localhost:${servers.none.port}`, { password: '', more: 'insecure_smtp = true' });
  assert.match(loopback.line, /accepted the mail/);
});

/** Signs in with a password in a browser of its own, up to the page that asks for the code. The user's mailbox is that of the provider's claim. */
async function atMailPage(sight) {
  const client = await discoverHub(federation.hub, federation.careful);
  const request = await buildAuthorizationRequest(client, federation.careful, { claims: '{"id_token":{"amr":{"essential":true}}}' });
  // The content policy of the pages forbids injected scripts, axe-core's too.
  const context = await browser.newContext({ bypassCSP: true, ...sight });
  context.setDefaultTimeout(30_000);
  const page = await context.newPage();
  await page.goto(request.url);
  await page.locator('button[value=real]').click();
  await page.locator('input[name=login]').fill('angela');
  await page.locator('form button').click();
  await page.locator('#code').waitFor();
  return { client, request, context, page };
}

/** The code in the plain text of a mail. */
function readCode(content) {
  const [, headers, body] = /text\/plain([^]*?)\r?\n\r?\n([^]*?)\r?\n--/.exec(content);
  const text = /base64/i.test(headers) ? Buffer.from(body, 'base64').toString() : body;
  return /^ {4}(\d{6})\r?$/m.exec(text)[1];
}

/** The codes in the mailbox, in the order of their arrival. */
const receivedCodes = () => servers.starttls.output.trim().split('\n').filter(Boolean).map(JSON.parse)
  .filter(({ to }) => to[0] === 'angela@example.org').map(({ content }) => readCode(content));
/** Waits for one more code than these. Logins of one test follow each other, so it is theirs. */
const nextCode = (before) => waitUntil(() => receivedCodes()[before.length], 'the arrival of a code');
const another = (code) => String((Number(code) + 1) % 1_000_000).padStart(6, '0');

async function enter(page, code) {
  await page.locator('#code').fill(code);
  await page.locator('button[value=code]').click();
  await page.locator('#code[aria-invalid=true], form[action$="/consent"]').first().waitFor();
}

const SIGHTS = {
  wide: { locale: 'en-GB', viewport: { width: 1280, height: 900 } },
  phone: { locale: 'fr-FR', viewport: { width: 390, height: 844 } },
  'narrow from right to left': { locale: 'ar', viewport: { width: 320, height: 640 }, colorScheme: 'dark' },
  'without script': { locale: 'en-GB', viewport: { width: 390, height: 844 }, javaScriptEnabled: false },
};
/** axe-core needs scripts. */
const checkSight = (page, name) => (name.endsWith('without script') ? undefined : checkPage(page, name));

test('a user reads the code in the mailbox, enters a wrong one, has another one sent, and signs in', async () => {
  const logins = [];
  for (const [name, sight] of Object.entries(SIGHTS)) {
    const before = receivedCodes();
    const login = { name, ...await atMailPage(sight) };
    logins.push({ ...login, code: await nextCode(before) });
    assert.equal(await login.page.locator('button[value=resend]').count(), 0, 'another code so soon');
    await checkSight(login.page, `mail-code-${name}`);
    await enter(login.page, another(receivedCodes().at(-1)));
    await checkSight(login.page, `mail-code-wrong-${name}`);
  }
  for (const { name, client, request, context, page, code } of logins) {
    const resend = page.locator('button[value=resend]');
    // The link loads the page again.
    await waitUntil(async () => await resend.count() || page.locator('form a.button').click(), 'another code can be sent', 90);
    await checkSight(page, `mail-code-resend-${name}`);
    const before = receivedCodes();
    await resend.click();
    const fresh = await nextCode(before);
    if (fresh !== code) await enter(page, code);
    assert.ok(await page.locator('#code[aria-invalid=true]').isVisible(), `${name}: the replaced code`);
    await enter(page, ` ${fresh.slice(0, 3)} ${fresh.slice(3)}`);
    await page.locator('form[action$="/consent"] button[value=yes]').click();
    await page.waitForURL(`${federation.careful.redirectUri}**`);
    const tokens = await oidc.authorizationCodeGrant(client, new URL(page.url()), { pkceCodeVerifier: request.verifier, expectedState: request.state, expectedNonce: request.nonce });
    const { acr, amr } = tokens.claims();
    assert.deepEqual([acr, amr], ['eidas1', ['pwd', 'mail', 'hub']], name);
    await context.close();
  }
});

test('a user who can not read the mailbox takes another account, or returns to the service', async () => {
  const { context, page } = await atMailPage(SIGHTS.phone);
  await page.locator('button[value=unreadable]').click();
  await page.getByText('Y420402').waitFor();
  await checkPage(page, 'mail-code-unreadable');
  await page.locator('form[action$="/not-me"] button').click();
  await page.locator('button[value=real]').waitFor();
  await page.locator('form[action$="/cancel"] button').first().click();
  await page.waitForURL(`${federation.careful.redirectUri}**`);
  assert.equal(new URL(page.url()).searchParams.get('error'), 'access_denied');
  await context.close();
});
