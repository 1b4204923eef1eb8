// The admin console in a real browser, and `passerelle status`: a user's login fails, and an operator finds it by the support
// id on the user's screen. Screenshots stay in the artifacts; axe-core checks each page.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { chromium } from 'playwright-core';
import { Browser, artifacts, chooseProvider, freePorts, oidcConnector, program, random, root, startDemo, startHub, skipUnlessAll } from './harness.mjs';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];
const DESKTOP = { width: 1280, height: 900 };
const PHONE = { width: 390, height: 844 };
const TEXTS = { fr: 'Le service sera interrompu ce soir de 22 h à 23 h.', en: 'The service is down tonight from 10 to 11 p.m.' };
const NOTICES = `[[notice]]
text = { fr = ${JSON.stringify(TEXTS.fr)}, en = ${JSON.stringify(TEXTS.en)} }
until = "2999-01-01T00:00:00Z"
severity = "warning"
link = "https://status.example.org/"
`;
const persona = `name = { fr = "Compte d’essai", en = "Trial account" }
levels = { lowest = "eidas1", highest = "eidas1" }
[kind.persona]
`;

let hub, browser, token, redirectUri;
before(async () => {
  const [port, privatePort] = await freePorts(2);
  redirectUri = `http://localhost:${port}/sp/callback`;
  hub = await startHub('admin-console', {
    port, privatePort,
    sps: [{ id: 'alpha', secret: 'x'.repeat(40), redirectUris: [redirectUri] }],
    connectors: { nowhere: oidcConnector('http://localhost:9'), trial: persona },
    settings: 'sandbox = true\nclient_registration = { open = "approval" }\n',
    files: { 'notices.toml': NOTICES },
  });
  token = readFileSync(path.join(hub.folder, 'admin.token'), 'utf8');
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: FLAGS });
});
after(async () => {
  await browser?.close();
  await hub?.stop();
});

const authorize = (clientId = 'alpha') => `${hub.issuer}/authorize?${new URLSearchParams({
  client_id: clientId, redirect_uri: redirectUri, response_type: 'code', scope: 'openid profile', acr_values: 'eidas1',
  prompt: 'login consent', state: random(32), nonce: random(32),
})}`;

async function visit({ locale = 'en-GB', viewport = DESKTOP, ...more } = {}) {
  const context = await browser.newContext({ locale, viewport, bypassCSP: true, ...more });
  context.setDefaultTimeout(15_000);
  return context.newPage();
}

/** Pages that docs/operating.md shows: DRAW=1 TESTS=all draws them. */
const PICTURES = { 'person-wide': 'person.png', 'overview-wide': 'overview.png', 'login-wide': 'login.png', 'notice-choice-en-wide': 'notice.png' };

/** Takes a screenshot, and fails on a serious accessibility violation. */
async function checkPage(page, name) {
  const screenshot = path.join(artifacts, `admin-console-${name}.png`);
  await page.screenshot({ path: screenshot, fullPage: true });
  if (process.env.DRAW === '1' && PICTURES[name]) copyFileSync(screenshot, path.join(root, 'docs/pictures', PICTURES[name]));
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] }));
  const serious = violations.filter((v) => ['serious', 'critical'].includes(v.impact)).map((v) => `${v.id}: ${v.nodes.map((n) => n.html).join(' | ')}`);
  assert.deepEqual(serious, [], name);
  assert.equal(await page.locator('h1').count(), 1, `${name}: one h1`);
  const sideways = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  assert.ok(sideways <= 0, `${name}: scrolls sideways by ${sideways} px`);
}

/** A user chooses an unreachable identity provider; returns the code and the support id of the page. */
async function failLogin(page) {
  await page.goto(authorize());
  // As if the page was opened before the hub's probes failed, whether or not they have.
  await page.locator('button[value=trial]').evaluate((button) => { button.value = 'nowhere'; button.id = 'chosen'; });
  await page.locator('#chosen').click();
  const output = page.locator('main [data-reference]');
  await output.waitFor();
  return { code: await output.locator('code').first().innerText(), supportId: await output.getAttribute('data-reference') };
}

async function signIn(page, address) {
  await page.goto(address);
  await page.getByLabel('Administration token').fill(token);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

const SIZES = { wide: DESKTOP, phone: PHONE };

for (const locale of ['fr', 'en']) {
  for (const [size, viewport] of Object.entries(SIZES)) {
    // By default each language on one size.
    test(`a user reads the notice: ${locale}, ${size}`, { skip: (locale === 'fr') === (size === 'wide') && skipUnlessAll }, async () => {
      const page = await visit({ locale, viewport });
      await page.goto(authorize());
      await page.getByText(TEXTS[locale]).waitFor();
      assert.equal(await page.getByRole('note').getByRole('link').getAttribute('href'), 'https://status.example.org/');
      await checkPage(page, `notice-choice-${locale}-${size}`);
      await page.goto(authorize('stranger'));
      await page.getByText(TEXTS[locale]).waitFor();
      await checkPage(page, `notice-error-${locale}-${size}`);
      await page.context().close();
    });
  }
}

for (const [size, viewport] of Object.entries(SIZES)) {
  test(`an operator finds a failed login by the code on the screen, without script: ${size}`, { skip: size === 'wide' && skipUnlessAll }, async () => {
    const user = await visit();
    const { code, supportId } = await failLogin(user);
    await checkPage(user, `person-${size}`);
    const operator = await visit({ viewport });
    await operator.goto(`${hub.privateBase}/admin/`);
    await checkPage(operator, `sign-in-${size}`);
    await operator.getByLabel('Administration token').fill('wrong');
    await operator.getByRole('button', { name: 'Sign in' }).click();
    await operator.getByRole('alert').waitFor();
    await checkPage(operator, `sign-in-wrong-${size}`);
    await signIn(operator, `${hub.privateBase}/admin/`);
    await operator.getByRole('heading', { name: 'The hub is' }).waitFor();
    await checkPage(operator, `overview-${size}`);
    // The same by the list of failed logins, from the reason to the login.
    await operator.getByRole('link', { name: 'Failed logins', exact: true }).click();
    await operator.getByRole('heading', { name: 'Why logins fail' }).waitFor();
    await operator.getByRole('rowheader', { name: code }).waitFor();
    await checkPage(operator, `failures-${size}`);
    await operator.getByRole('link', { name: supportId }).click();
    await operator.getByRole('heading', { name: supportId }).waitFor();
    await operator.goto(`${hub.privateBase}/admin/`);
    await operator.getByLabel('Reference').fill(` ${supportId.toLowerCase()} `);
    await operator.getByRole('button', { name: 'Find' }).click();
    await operator.getByRole('heading', { name: supportId }).waitFor();
    assert.equal(operator.url(), `${hub.privateBase}/admin/logins/${supportId}`);
    await operator.locator('.note.bad', { hasText: code }).waitFor();
    await operator.getByText('Service alpha').first().waitFor();
    await checkPage(operator, `login-${size}`);
    await operator.getByRole('link', { name: 'Configuration' }).click();
    await operator.getByRole('heading', { name: 'The configuration in use' }).waitFor();
    const body = await operator.content();
    for (const secret of [token, 'x'.repeat(40), readFileSync(path.join(hub.folder, 'subject.key'), 'utf8')]) assert.ok(!body.includes(secret));
    await checkPage(operator, `config-${size}`);
    await operator.goto(`${hub.privateBase}/admin/logins/ZZZZZZZZZZZZ`);
    await checkPage(operator, `unknown-${size}`);
    await operator.getByRole('button', { name: 'Sign out' }).click();
    await operator.goto(`${hub.privateBase}/admin/logins/${supportId}`);
    await operator.getByLabel('Administration token').waitFor();
    await Promise.all([user, operator].map((page) => page.context().close()));
    // The same without script, under the page's own policy.
    const plain = await visit({ javaScriptEnabled: false, bypassCSP: false });
    await signIn(plain, `${hub.privateBase}/admin/logins/${supportId}`);
    await plain.getByRole('heading', { name: supportId }).waitFor();
    await plain.context().close();
  });
}

for (const [size, viewport] of Object.entries(SIZES)) {
  test(`an operator blocks, lifts, drains and reloads from the page, without script: ${size}`, { skip: size === 'phone' && skipUnlessAll }, async () => {
    const page = await visit({ viewport });
    const confirm = async (question, button, name) => {
      await page.getByRole('heading', { name: question }).waitFor();
      await checkPage(page, `confirm-${name}-${size}`);
      await page.getByRole('button', { name: button, exact: true }).click();
    };
    const done = async (name) => {
      await page.getByRole('heading', { name: 'Done' }).waitFor();
      await checkPage(page, `${name}-${size}`);
      await page.getByRole('link', { name: 'Back to the overview' }).click();
      await page.getByRole('heading', { name: 'The hub is' }).waitFor();
    };
    await signIn(page, `${hub.privateBase}/admin/`);
    await page.getByText('admin token (operator)').waitFor();
    // An identity provider that needs attention has the reason.
    const first = page.locator('tbody tr', { has: page.getByRole('rowheader', { name: 'nowhere' }) }).first();
    await first.getByText("can't be reached").first().waitFor();
    await page.getByText('Block an identity provider', { exact: true }).click();
    await page.getByLabel('Identity provider', { exact: true }).selectOption('trial');
    await page.getByLabel('Reason, for operators').fill(`keys leaked, ${size}`);
    await page.getByLabel('End, in UTC').fill('2999-01-01T00:00');
    await page.getByText('Message to users, by language').click();
    await page.getByLabel('Message to users, en').fill('Back on Monday.');
    await checkPage(page, `block-form-${size}`);
    await page.getByRole('button', { name: 'Block this identity provider' }).click();
    await confirm('Block this identity provider?', 'Block it', 'block');
    await done('blocked');
    await page.getByText(`In force: keys leaked, ${size}, ends in`).waitFor();
    await page.locator('time[title="2999-01-01T00:00:00Z"]').first().waitFor();
    await checkPage(page, `overview-blocked-${size}`);
    await page.getByText('Lift the block of trial').click();
    await page.getByLabel('Reason for lifting the block of trial').fill('keys replaced');
    await page.getByRole('button', { name: 'Lift this block' }).click();
    await confirm('Lift this block?', 'Lift it', 'lift');
    await done('lifted');
    await page.getByRole('button', { name: 'Drain this hub' }).click();
    await confirm('Drain this hub?', 'Drain it', 'drain');
    await done('drained');
    assert.equal((await fetch(`${hub.privateBase}/readyz`)).status, 503);
    await page.getByRole('heading', { name: 'The hub is not ready' }).waitFor();
    await page.getByRole('button', { name: 'Take requests again' }).click();
    await done('resumed');
    assert.equal((await fetch(`${hub.privateBase}/readyz`)).status, 200);
    await page.getByRole('button', { name: 'Reload files and keys now' }).click();
    await done('reloaded');
    await page.getByRole('button', { name: 'Rotate keys' }).click();
    await page.getByRole('heading', { name: 'Create the next keys?' }).waitFor();
    await checkPage(page, `confirm-rotate-${size}`);
    await page.getByRole('link', { name: 'Cancel' }).click();
    await page.getByRole('rowheader', { name: 'nowhere' }).getByRole('link').first().click();
    await page.getByText('Block nowhere').click();
    await checkPage(page, `identity-provider-acts-${size}`);
    await page.getByRole('button', { name: 'Try it again now' }).click();
    await page.getByText('nowhere fails: Y').waitFor();
    await checkPage(page, `probed-${size}`);
    await page.getByRole('link', { name: 'nowhere' }).click();
    await page.getByRole('link', { name: 'Overview' }).click();
    await page.getByText('A person: recent logins').click();
    await page.getByLabel("The person's sub").fill('a-sub');
    await page.getByLabel('Reason, for example').fill('ticket 4711');
    await page.getByRole('button', { name: 'Search and record the reason' }).click();
    // This hub keeps no audit log, so nothing would record the reason.
    await page.getByRole('heading', { name: 'This was not done' }).waitFor();
    await page.getByText('Y500104').waitFor();
    await checkPage(page, `search-refused-${size}`);
    await page.getByRole('link', { name: 'Back to the overview' }).click();
    await page.getByText('A person: recent logins').click();
    await page.getByLabel("The person's sub").fill('a-sub');
    await page.getByLabel('Reason, for example').fill('ticket 4711');
    await checkPage(page, `person-acts-${size}`);
    await page.getByRole('button', { name: 'End the sessions' }).click();
    await confirm('End the sessions of this person?', 'End the sessions', 'end-sessions');
    await page.getByText('Y500104').waitFor();
    await page.goto(`${hub.privateBase}/admin/?refresh=on`);
    await page.getByText('loads itself again every 10 seconds').waitFor();
    await page.getByRole('link', { name: 'Stop that' }).click();
    await page.getByRole('link', { name: 'Refresh every 10 seconds' }).waitFor();
    await page.context().close();
  });
}

for (const [size, viewport] of Object.entries(SIZES)) {
  test(`an operator publishes and removes a notice from the page, without script: ${size}`, { skip: size === 'wide' && skipUnlessAll }, async () => {
    const page = await visit({ viewport });
    const confirm = async (question, button, name) => {
      await page.getByRole('heading', { name: question }).waitFor();
      await checkPage(page, `confirm-${name}-${size}`);
      await page.getByRole('button', { name: button, exact: true }).click();
      await page.getByRole('heading', { name: 'Done' }).waitFor();
      await page.getByRole('link', { name: 'the notices' }).click();
      await page.getByRole('heading', { name: 'Notices to users' }).waitFor();
      await checkPage(page, `${name}-${size}`);
    };
    await signIn(page, `${hub.privateBase}/admin/notices`);
    await page.getByRole('cell', { name: TEXTS.fr }).waitFor();
    await page.getByLabel('Text, en', { exact: true }).fill(`Delays <this> morning, ${size}.`);
    await page.getByLabel('Text, ar', { exact: true }).fill('تأخير هذا الصباح.');
    await page.getByLabel('Kind').selectOption('Warning');
    await page.getByLabel('End, in UTC').fill('2999-01-01T00:00');
    await page.getByLabel('Reason, for operators').fill('change 4711');
    await checkPage(page, `notice-form-${size}`);
    await page.getByRole('button', { name: 'Publish this notice' }).click();
    await confirm('Publish this notice?', 'Publish it', 'notice-published');
    const user = await visit({ viewport });
    await user.goto(authorize());
    const shown = user.getByText(`Delays <this> morning, ${size}.`);
    await shown.waitFor();
    await checkPage(user, `notices-choice-${size}`);
    await page.getByText('Remove the notice').click();
    await page.getByLabel('Reason for removing the notice').fill('no more delays');
    await page.getByRole('button', { name: 'Remove this notice' }).click();
    await confirm('Remove this notice?', 'Remove it', 'notice-removed');
    await user.reload();
    assert.equal(await shown.count(), 0);
    await Promise.all([user, page].map((one) => one.context().close()));
  });
}

for (const [size, viewport] of Object.entries(SIZES)) {
  test(`an operator approves and removes a registration from the page, without script: ${size}`, { skip: size === 'wide' && skipUnlessAll }, async () => {
    const metadata = { client_name: `Corner shop, ${size}`, redirect_uris: [`https://${size}.shop.example/callback`], contacts: ['shop@example.org'] };
    const registered = await fetch(`${hub.issuer}/register`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(metadata) });
    const { client_id: id } = await registered.json();
    const page = await visit({ viewport });
    const decide = async (summary, button, name) => {
      await page.getByText(`${summary} ${id}`).click();
      await page.getByLabel(`Reason for the decision on ${id}`).fill('ticket 4711');
      await checkPage(page, `${name}-form-${size}`);
      await page.getByRole('button', { name: button, exact: true }).click();
      await page.getByRole('heading', { name: 'this registration?' }).waitFor();
      await page.getByText(metadata.redirect_uris[0]).waitFor();
      await checkPage(page, `${name}-confirm-${size}`);
      await page.getByRole('button', { name: button, exact: true }).click();
      await page.getByRole('heading', { name: 'Done' }).waitFor();
      await checkPage(page, `${name}-done-${size}`);
    };
    // The hub reads the registrations of the store every two seconds.
    for (await signIn(page, `${hub.privateBase}/admin/`); !(await page.getByText(`Approve or refuse ${id}`).count());) await page.reload();
    await decide('Approve or refuse', 'Approve it', 'approve');
    await page.getByRole('link', { name: id }).click();
    await decide('Remove the registration of', 'Remove it', 'remove');
    await page.context().close();
  });
}

test('another site that links to the console, or frames it, gets no access', async () => {
  const page = await visit({ bypassCSP: false });
  await signIn(page, `${hub.privateBase}/admin/`);
  await page.getByRole('heading', { name: 'The hub is' }).waitFor();
  // The same host by another name is another site for a browser.
  const evil = `${hub.base}/evil`;
  await page.route(evil, (route) => route.fulfill({ contentType: 'text/html', body: `<!doctype html><a href="${hub.privateBase}/admin/config">x</a><iframe src="${hub.privateBase}/admin/"></iframe>` }));
  await page.goto(evil);
  const frame = page.frames().find((one) => one !== page.mainFrame());
  assert.ok(!(await frame.content().catch(() => '')).includes('The hub is'), 'in a frame');
  const read = await page.evaluate((url) => fetch(url, { credentials: 'include' }).then((r) => r.text(), () => 'refused'), `${hub.privateBase}/admin/status`);
  assert.equal(read, 'refused');
  await page.getByRole('link').click();
  await page.getByLabel('Administration token').waitFor();
  await page.context().close();
});

const status = (...args) => spawnSync(program, ['status', '--config', hub.folder, ...args], { encoding: 'utf8' });

test('`passerelle status` prints once, and as JSON', async () => {
  const output = status();
  assert.equal(output.status, 0, output.stderr);
  assert.match(output.stdout, /The hub is (healthy|degraded)\./);
  assert.match(output.stdout, /nowhere .*\n?/);
  assert.ok(!output.stdout.includes('\x1b'), 'no escape codes in a pipe');
  writeFileSync(path.join(artifacts, 'admin-console-status.txt'), output.stdout);
  const json = JSON.parse(status('--json').stdout);
  assert.deepEqual(json.connectors.map((row) => row.id), ['nowhere', 'trial']);
  assert.ok(json.live.choosing >= 1 && json.logins_per_second >= 0 && json.ended_logins, JSON.stringify(json));
});

test('`passerelle status` reports an unreachable hub and a rejected token', async () => {
  const [free] = await freePorts(1);
  const away = status('--url', `http://127.0.0.1:${free}`);
  assert.deepEqual([away.status, /does not answer.*fix:/s.test(away.stderr)], [3, true], away.stderr);
  const file = path.join(hub.folder, 'admin.token');
  writeFileSync(file, random(32));
  const refused = status();
  writeFileSync(file, token);
  assert.deepEqual([refused.status, /rejects the token/.test(refused.stderr)], [4, true], refused.stderr);
});

test('the demo is enough to try the three tasks, as docs/operating.md has them', async () => {
  const demo = await startDemo('demo-operator');
  try {
    const [folder, address] = [/its folder +(\S+)/, /its console +(\S+)\/admin\//].map((pattern) => demo.log().match(pattern)[1]);
    const hubAt = demo.log().match(/hub +(http\S+)/)[1];
    const top = spawnSync(program, ['status', '--config', folder, '--json'], { encoding: 'utf8' });
    assert.equal(top.status, 0, top.stderr);
    assert.equal(JSON.parse(top.stdout).ready, true);

    const user = new Browser();
    const service = await user.open(demo.url);
    const choice = await user.submit(service, { pick: (form) => form.method === 'POST' });
    const sandbox = await chooseProvider(user, choice, choice.html.match(/name="provider" value="([^"]+)"/)[1]);
    // The identity provider of the demo is a hub of its own, with one sandbox.
    const failed = await user.submit(sandbox, { values: { failure: 'unknown-person' } });
    const no = /\/consent$/.test(failed.url) ? await user.submit(failed, { pick: (form) => /consent$/.test(form.action), values: { answer: 'yes' } }) : failed;
    const number = no.html.match(/data-reference="([0-9A-HJKMNP-TV-Z]{12})"/)?.[1];
    assert.ok(number && /Y\d{6}/.test(no.html), `${no.url}\n${no.html}`);

    const secret = readFileSync(path.join(folder, 'admin.token'), 'utf8').trim();
    const output = await (await fetch(`${address}/admin/logins/${number}`, { headers: { authorization: `Bearer ${secret}` } })).json();
    assert.match(JSON.stringify(output), /Y0\d{5}/);
    assert.ok(!/DUBOIS|Angela/i.test(JSON.stringify(output)), 'no personal data');

    const jwks = path.join(artifacts, 'demo-jwks.json');
    writeFileSync(jwks, await (await fetch(`${hubAt}/api/v2/jwks`)).text());
    const log = path.join(folder, 'audit/audit.jsonl');
    for (let tries = 0; !readFileSync(log, 'utf8').includes(number); tries += 1) assert.ok(tries < 5000, 'the line is not written');
    const verified = spawnSync(program, ['audit', 'verify', '--running', log, '--jwks', jwks], { encoding: 'utf8' });
    assert.equal(verified.status, 0, verified.stdout + verified.stderr);
  } finally {
    await demo.stop();
  }
});
