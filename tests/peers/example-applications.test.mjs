// examples/: each one is started against the demo as its README says, the first two by the commands of the tutorial
// docs/integrate/README.md, and a person signs in and out in Chromium. DRAW=1 draws the picture of the tutorial.
import assert from 'node:assert/strict';
import { cpSync, existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { chromium } from 'playwright-core';
import { artifacts, freePorts, random, root, startDemo, tomlString, skipUnlessAll } from './harness.mjs';
import { WINDOW, tutorialPicture } from './pictures.mjs';
import { productCache, findProgram, goEnv, replaceAll, springApplication, startProduct, runSuccessfully, skipWithoutGo } from './recipes.mjs';

const FLAGS = ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking'];
const folderOf = (name) => path.join(root, 'examples', name);
// An interpreter with examples/python-authlib/requirements.txt.
const python = process.env.EXAMPLE_PYTHON;
const settingsOfSpring = 'src/main/resources/application.yml';
const spring = springApplication('java-spring', { [settingsOfSpring]: readFileSync(path.join(folderOf('java-spring'), settingsOfSpring), 'utf8') }, folderOf('java-spring'));

const tutorial = readFileSync(path.join(root, 'docs/integrate/README.md'), 'utf8');
/** The tutorial's command that starts an example. tests/install has run the ones before it. */
function tutorialCommand(name, changes) {
  const [, commands] = tutorial.match(new RegExp(`^\`\`\`sh\ncd examples/${name}\n([^]*?)^\`\`\``, 'm'));
  return ['bash', '-c', `exec env ${replaceAll(commands.trim().split('\n').at(-1), changes)}`];
}

/** How each example is started: its toolchain, its preparation, its command, and the file of its own code. */
const EXAMPLES = {
  'node-openid-client': {
    code: 'app.mjs', skip: !existsSync(path.join(folderOf('node-openid-client'), 'node_modules')) && 'examples/node-openid-client/node_modules is not there: npm ci.',
    command: () => tutorialCommand('node-openid-client', {}),
  },
  'python-authlib': {
    code: 'app.py', skip: !python && 'EXAMPLE_PYTHON names no interpreter: tests/install makes one.',
    command: (port) => tutorialCommand('python-authlib', { '.venv/bin': path.dirname(python), 3000: String(port) }),
  },
  'go-oidc': {
    code: 'main.go', skip: skipUnlessAll || skipWithoutGo(),
    async command() {
      const binary = path.join(productCache, 'example-go-oidc');
      await runSuccessfully(findProgram('go'), ['build', '-buildvcs=false', '-o', binary, '.'], { cwd: folderOf('go-oidc'), env: goEnv });
      return [binary];
    },
  },
  'js-spa': {
    code: 'app.js', skip: !existsSync(path.join(folderOf('js-spa'), 'node_modules')) && 'examples/js-spa/node_modules is not there: npm ci.',
    command: (port) => {
      const folder = mkdtempSync(path.join(tmpdir(), 'passerelle-spa-'));
      after(() => rmSync(folder, { recursive: true, force: true }));
      cpSync(folderOf('js-spa'), folder, { recursive: true });
      const file = path.join(folder, 'settings.json');
      writeFileSync(file, replaceAll(readFileSync(file, 'utf8'), { 'http://localhost:8080/api/v2': issuer }));
      return ['python3', '-m', 'http.server', '--bind', '127.0.0.1', '--directory', folder, String(port)];
    },
  },
  'java-spring': { code: 'src/main/java/app/Application.java', skip: skipUnlessAll || spring.skip, command: async () => ['java', '-jar', await spring.build()] },
};

let demo, browser, issuer;
const ports = {};
before(async () => {
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: FLAGS });
  demo = await startDemo('demo-examples');
  const [, hub, folder] = demo.log().match(/^standard platform\n {2}hub +(\S+)[^]*? {2}its folder +(\S+)/m);
  issuer = `${hub}/api/v2`;
  // The demo registers port 3000. Here each example has a free one, which the hub reads from the file within a second.
  const free = await freePorts(Object.keys(EXAMPLES).length);
  Object.keys(EXAMPLES).forEach((name, index) => { ports[name] = free[index]; });
  const addresses = (route) => ({ [`["http://localhost:3000${route}"]`]: tomlString(free.map((port) => `http://localhost:${port}${route}`)) });
  const register = (name, routes) => {
    const file = path.join(folder, 'service-providers', name);
    writeFileSync(file, replaceAll(readFileSync(file, 'utf8'), Object.assign({}, ...routes.map(addresses))));
  };
  register('example-spa.toml', ['/', '']);
  register('example.toml', ['/callback', '/signed-out']);
  const request = new URLSearchParams({
    client_id: 'example', response_type: 'code', scope: 'openid', acr_values: 'eidas1', redirect_uri: `http://localhost:${free[0]}/callback`,
    state: random(), nonce: random(), code_challenge: random(), code_challenge_method: 'S256',
  });
  const answer = () => fetch(`${issuer}/authorize?${request}`, { redirect: 'manual' });
  for (const deadline = performance.now() + 20_000; (await answer()).status !== 303;) {
    assert.ok(performance.now() < deadline, `the hub does not know the examples' addresses:\n${demo.log()}`);
    await new Promise((resolve) => { setTimeout(resolve, 100); });
  }
});
after(async () => {
  await browser?.close();
  await demo?.stop();
});

test('every example is tested, documented, and less than 80 lines of own code', () => {
  assert.deepEqual(readdirSync(path.join(root, 'examples'), { withFileTypes: true }).filter((entry) => entry.isDirectory()).map(({ name }) => name).sort(), Object.keys(EXAMPLES).sort());
  for (const [name, { code }] of Object.entries(EXAMPLES)) {
    const lines = readFileSync(path.join(folderOf(name), code), 'utf8').replace(/^import \([^]*?^\)/m, '').split('\n');
    const own = lines.filter((line) => line.trim() !== '' && !/^\s*(\/\/|\/\*\*|#|""")/.test(line) && !/^(import|from) /.test(line));
    assert.ok(own.length < 80, `${name}: ${own.length}`);
    assert.ok(existsSync(path.join(folderOf(name), 'README.md')), name);
  }
  const code = readFileSync(path.join(folderOf('python-authlib'), EXAMPLES['python-authlib'].code), 'utf8');
  const quoted = [...tutorial.matchAll(/^```python\n([^]*?)\n```/gm)].flatMap(([, block]) => block.split('\n\n\n'));
  assert.ok(quoted.length >= 4);
  for (const part of quoted) assert.ok(code.includes(part), `the tutorial has other lines than the example:\n${part}`);
});

for (const [name, { skip, command }] of Object.entries(EXAMPLES)) {
  test(`${name}: a person signs in and out`, { skip, timeout: 900_000 }, async (t) => {
    const port = ports[name];
    const app = `http://localhost:${port}`;
    const [program, ...args] = await command(port);
    const server = await startProduct(`example-${name}`, program, args, {
      ready: `http://127.0.0.1:${port}/`, seconds: 180, cwd: folderOf(name),
      env: { ...process.env, PORT: String(port), ISSUER: issuer, AUTHLIB_INSECURE_TRANSPORT: '1' },
    });
    t.after(server.stop);
    const context = await browser.newContext({ locale: 'en-GB', viewport: WINDOW });
    context.setDefaultTimeout(20_000);
    const page = await context.newPage();
    t.after(async () => { await page.screenshot({ path: path.join(artifacts, `example-${name}.png`) }); await context.close(); });

    const picture = name === 'node-openid-client' ? tutorialPicture(browser, 'application') : undefined;
    await page.goto(`${app}/`);
    const signIn = page.locator('a, button').filter({ hasText: 'Sign in with Passerelle' });
    await signIn.click();
    await page.locator('form[action$="/provider"] button').first().click();
    await page.locator('form:has(input[type=radio]) button[type=submit], form:has(input[type=radio]) button.main').first().click();
    const agree = page.locator('form[action$="/consent"] button[value=yes]');
    await agree.waitFor();
    await picture?.add(page);
    await agree.click();
    await page.waitForURL(`${app}/`);
    await page.getByText('Sign out').waitFor();
    await picture?.add(page);
    await picture?.save();
    assert.equal(await page.locator('h1').innerText(), 'Angela Claire Louise DUBOIS', server.output());
    // The session is the application's own: the page stays while the tokens end.
    await page.reload();
    await page.getByText('Sign out').click();
    await signIn.waitFor();
    assert.equal(new URL(page.url()).origin, app);
    await page.goto(`${app}/`);
    assert.equal(await page.locator('h1').innerText(), 'My application', server.output());
  });
}
