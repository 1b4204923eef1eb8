// The tutorials docs/starting.md and docs/integrate/identity-provider.md, as a reader does them: the commands of the page, in its order, and
// a person who signs in with Chromium. docs/integrate/README.md is done by example-applications.test.mjs. DRAW=1 draws their pictures.
import assert from 'node:assert/strict';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { chromium } from 'playwright-core';
import { freePorts, program, root, startServer } from './harness.mjs';
import { keycloakFolder, replaceAll, runProgram, skipWithoutKeycloak, startProduct } from './recipes.mjs';
import { WINDOW, tutorialPicture } from './pictures.mjs';

// An interpreter with examples/python-authlib/requirements.txt.
const python = process.env.EXAMPLE_PYTHON;

let browser;
before(async () => {
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu', '--no-first-run'] });
});
after(() => browser?.close());

/**
 * A page in a folder of its own. next() runs its next block of commands; a command of `servers` (its beginning, and an address that answers
 * when it runs) goes on until the end of the test. `changes` are replaced in every block: ports, and what must not be asked.
 */
async function openTutorial(t, name, { changes, servers = {} }) {
  const page = readFileSync(path.join(root, 'docs', name), 'utf8');
  const changed = new RegExp(Object.keys(changes).map((text) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|'), 'g');
  const blocks = [...page.matchAll(/^```sh\n([^]*?)^```/gm)].map(([, commands]) => commands.replaceAll(changed, (text) => changes[text]));
  const folder = mkdtempSync(path.join(tmpdir(), 'passerelle-tutorial-'));
  const env = { ...process.env, PATH: `${path.dirname(program)}:${process.env.PATH}`, HOME: folder };
  const running = [];
  t.after(async () => {
    for (const server of running) await server.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  const run = async (commands) => {
    // 2: warnings, for example that the identity provider has no TLS.
    const { status, out, err } = await runProgram('bash', ['-euo', 'pipefail', '-c', commands], { cwd: folder, env });
    assert.ok([0, 2].includes(status), `${commands}\n${status}\n${out}${err}`);
    return { status, out };
  };
  return {
    folder,
    run,
    async next() {
      const commands = blocks.shift() ?? assert.fail(`${name} has no more commands`);
      const [server, ready] = Object.entries(servers).find(([beginning]) => commands.includes(`\n${beginning}`)) ?? [];
      if (!server) return (await run(commands)).out;
      const before = commands.slice(0, commands.indexOf(`\n${server}`));
      const { out } = await run(before);
      const exports = before.split('\n').filter((line) => /^(export|cd) /.test(line)).join('\n');
      running.unshift(await startProduct(`tutorial-${path.basename(name, '.md')}`, 'bash', ['-c', `${exports}\nexec env ${commands.slice(commands.indexOf(`\n${server}`) + 1)}`], { ready, seconds: 300, cwd: folder, env }));
      return out;
    },
    /** Returns the next block without running it. */
    take: () => blocks.shift(),
    left: () => blocks.length,
  };
}

async function openBrowser(t) {
  const context = await browser.newContext({ locale: 'en-GB', viewport: WINDOW });
  context.setDefaultTimeout(30_000);
  t.after(() => context.close());
  return context.newPage();
}
const account = (page, id) => page.locator(`form[action$="/provider"] button[value=${id}]`);
const agree = (page) => page.locator('form[action$="/consent"] button[value=yes]');

test('docs/starting.md: a hub, an application, a login, its audit log, a backup', { skip: !python && 'EXAMPLE_PYTHON names no interpreter: tests/install makes one.', timeout: 600_000 }, async (t) => {
  const [port, privatePort, application] = await freePorts(3);
  const app = `http://localhost:${application}`;
  const tutorial = await openTutorial(t, 'starting.md', {
    changes: {
      8080: port, 9090: privatePort, 3000: application,
      'passerelle init hub': `passerelle init hub --port ${port} --private-port ${privatePort} --redirect-uri ${app}/callback`,
      // What tests/install has done already.
      'python3 -m venv .venv && .venv/bin/pip install -r requirements.txt': ':',
    },
    servers: { 'passerelle serve': `http://127.0.0.1:${privatePort}/readyz`, 'AUTHLIB_INSECURE_TRANSPORT=1': `http://127.0.0.1:${application}/` },
  });
  cpSync(path.join(root, 'examples/python-authlib'), path.join(tutorial.folder, 'examples/python-authlib'), { recursive: true, filter: (file) => !file.endsWith('.venv') });
  symlinkSync(path.dirname(path.dirname(python)), path.join(tutorial.folder, 'examples/python-authlib/.venv'));

  assert.match(await tutorial.next(), /The configuration is valid/);
  await tutorial.next();
  const page = await openBrowser(t);
  await page.goto(`${app}/`);
  await page.getByText('Sign in with Passerelle').click();
  const signIn = tutorialPicture(browser, 'sign-in');
  await account(page, 'sandbox').waitFor();
  await signIn.add(page);
  await account(page, 'sandbox').click();
  await page.locator('form:has(input[type=radio])').waitFor();
  await signIn.add(page);
  await signIn.save();
  await page.locator('form:has(input[type=radio]) button').last().click();
  await agree(page).click();
  await page.waitForURL(`${app}/`);
  assert.equal(await page.locator('h1').innerText(), 'Angela Claire Louise DUBOIS');

  const seen = await tutorial.next();
  assert.match(seen, /"event":"userinfo_released"/);
  const [token] = seen.match(/^[\w-]{43}$/m);
  await page.goto(`http://localhost:${privatePort}/admin/`);
  await page.getByLabel('Administration token').fill(token);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { name: 'The hub is healthy' }).waitFor();
  const console = tutorialPicture(browser, 'console');
  await console.add(page);
  await console.save();

  const folders = tutorial.take();
  const backup = readFileSync(path.join(root, 'docs/backup.md'), 'utf8');
  const block = (heading) => backup.split(`## ${heading}\n`)[1].match(/```sh\n([^]*?)```/)[1];
  await tutorial.run(`${folders}\n${block('Back up')}`);
  await tutorial.run(`${replaceAll(folders, { 'CONFIG=hub STATE=hub/state AUDIT=hub/audit': 'CONFIG=new STATE=new/state AUDIT=new/audit' })}\n${block('Restore')}\npasserelle check --config new`);
  for (const file of ['subject.key', 'admin.token', 'audit/audit.jsonl']) assert.ok(existsSync(path.join(tutorial.folder, 'new', file)), file);
  assert.equal(tutorial.left(), 0);
});

test('docs/integrate/identity-provider.md: a user of Keycloak signs in at a new hub', { skip: skipWithoutKeycloak(), timeout: 900_000 }, async (t) => {
  const [port, privatePort, keycloak, management] = await freePorts(4);
  // The redirect URI of the first application, where a reader has none yet.
  const application = await startServer((request, response) => response.end('arrived'));
  t.after(application.close);
  const back = `http://localhost:${application.port}/callback`;
  const tutorial = await openTutorial(t, 'integrate/identity-provider.md', {
    changes: {
      8080: port, 8180: keycloak,
      'passerelle init hub': `passerelle init hub --port ${port} --private-port ${privatePort} --redirect-uri ${back}`,
      'start-dev': `start-dev --db=dev-mem --cache=local --http-host=127.0.0.1 --http-management-port=${management}`,
    },
    servers: { 'passerelle serve': `http://127.0.0.1:${privatePort}/readyz`, 'keycloak-26.4.7/bin/kc.sh': `http://127.0.0.1:${keycloak}/realms/master` },
  });
  symlinkSync(await keycloakFolder(), path.join(tutorial.folder, 'keycloak-26.4.7'));
  await tutorial.next();
  await tutorial.next();
  const address = (await tutorial.next()).match(/^ +(http:\S+\/authorize\?\S+)$/m)[1];
  assert.match(await tutorial.next(), /client-authentication: it accepts the hub's client authentication/);

  const page = await openBrowser(t);
  await page.goto(address);
  const picture = tutorialPicture(browser, 'keycloak');
  while (!(await account(page, 'keycloak').isEnabled().catch(() => false))) await page.reload();
  await picture.add(page);
  await account(page, 'keycloak').click();
  await page.locator('#username').waitFor();
  await picture.add(page);
  await picture.save();
  await page.locator('#username').fill('jane');
  await page.locator('#password').fill('the-password');
  await page.locator('#kc-login').click();
  await agree(page).click();
  await page.waitForURL((url) => url.href.startsWith(back));
  assert.ok(new URL(page.url()).searchParams.get('code'), page.url());
  assert.equal(tutorial.left(), 0);
});
