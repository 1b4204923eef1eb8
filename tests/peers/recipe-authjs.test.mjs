// docs/recipes/sp-authjs.md
import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { Browser, freePorts, random } from './harness.mjs';
import { APP, HUB, JANE, createFolder, readRecipe, replaceAll, startHubForSp, startProduct, signInThroughHub } from './recipes.mjs';

const page = readRecipe('sp-authjs');
/** What the page shows, and without a setting of its own: the claims in the ID token. */
const WAYS = {
  'the files of its recipe': [page.file('config/service-providers/authjs.toml'), page.file('server.mjs')],
  'the profile in the ID token': [page.file('config/service-providers/authjs.toml'), replaceAll(page.file('server.mjs'), { '    idToken: false,\n': '' })],
};

for (const [way, [file, program]] of Object.entries(WAYS)) test(`Auth.js in Express signs in with ${way}`, async (t) => {
  const [port] = await freePorts(1);
  const app = `http://localhost:${port}`;
  const secret = random(32);
  const hub = await startHubForSp('hub-recipe-authjs', {
    files: { 'service-providers/authjs.toml': replaceAll(file, { [APP]: app }), 'authjs.secret': secret },
  });
  t.after(() => hub.stop());
  const { folder, remove } = createFolder({ 'server.mjs': replaceAll(program, { [HUB]: hub.base }) });
  t.after(remove);
  const server = await startProduct('authjs', process.execPath, [path.join(folder, 'server.mjs')], {
    ready: `http://127.0.0.1:${port}/`, env: { ...process.env, PORT: String(port), CLIENT_SECRET: secret, AUTH_SECRET: random(32) },
  });
  t.after(server.stop);
  const browser = new Browser();
  const choice = await browser.submit(await browser.open(`${app}/`), { pick: (form) => form.action.endsWith('/auth/signin/passerelle') });
  await signInThroughHub(browser, choice);
  // Its cookie is set; the page after the login is the one that asked for it.
  const home = await browser.open(`${app}/`);
  assert.equal(home.status, 200, `${home.html}\n${server.output()}`);
  const user = JSON.parse(home.html);
  assert.deepEqual([user.name, user.email], [JANE.name, JANE.email]);
});
