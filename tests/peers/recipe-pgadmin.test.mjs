// docs/recipes/sp-pgadmin.md, by PyPI's pgadmin4.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Browser, freePorts, random } from './harness.mjs';
import {
  APP, HUB, createFolder, productPython, readRecipe, replaceAll, signInThroughHub, signOutThroughHub, skipWithoutPython, startHubForSp, startProduct,
} from './recipes.mjs';

test('pgAdmin signs in and out with the files of its recipe, and admits one group', { skip: skipWithoutPython('pgadmin') }, async (t) => {
  const page = readRecipe('sp-pgadmin');
  const [port] = await freePorts(1);
  const app = `http://localhost:${port}`;
  const secret = random(32);
  const hub = await startHubForSp('hub-recipe-pgadmin', {
    files: { 'service-providers/pgadmin.toml': replaceAll(page.file('config/service-providers/pgadmin.toml'), { [APP]: app }), 'pgadmin.secret': secret },
  });
  t.after(() => hub.stop());
  const data = createFolder({});
  t.after(data.remove);
  const { folder, remove } = createFolder({
    'config_local.py': `${replaceAll(page.file('config_local.py'), { [HUB]: hub.base })}
SERVER_MODE = True
DATA_DIR = "${data.folder}"
DEFAULT_SERVER = "127.0.0.1"
DEFAULT_SERVER_PORT = ${port}
`,
  });
  t.after(remove);
  const start = 'import runpy, os, pgadmin4; runpy.run_path(os.path.join(pgadmin4.__path__[0], "pgAdmin4.py"), run_name="__main__")';
  const pgadmin = await startProduct('pgadmin', productPython('pgadmin'), ['-B', '-c', start], {
    ready: `${app}/misc/ping`, seconds: 180,
    env: { ...process.env, PYTHONPATH: folder, CLIENT_SECRET: secret, PGADMIN_SETUP_EMAIL: 'admin@example.org', PGADMIN_SETUP_PASSWORD: random(12) },
  });
  t.after(pgadmin.stop);
  // A script of pgAdmin draws the button, which posts this form.
  const pressButton = async (browser) => {
    const { html } = await browser.open(`${app}/login`);
    const [, token] = html.match(/"csrfToken": "([^"]+)"/);
    return browser.open(`${app}/authenticate/login`, {
      method: 'POST', body: new URLSearchParams({ csrf_token: token, oauth2_button: 'passerelle' }), headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
  };
  const browser = new Browser();
  const back = await signInThroughHub(browser, await pressButton(browser));
  assert.equal(back.status, 200, `${back.url}\n${back.html}\n${pgadmin.output()}`);
  const { html: user } = await browser.open(`${app}/user_management/current_user.js`);
  for (const line of ["'email': 'jane@people.example'", "'name': 'jane'", "'is_admin': false", "'current_auth_source': 'oauth2'"]) assert.ok(user.includes(line), `${line}\n${user}`);
  const out = await signOutThroughHub(browser, `${app}/oauth2/logout`);
  assert.ok(out.url.startsWith(app), `${out.url}\n${out.html}`);

  const stranger = new Browser();
  const refused = await signInThroughHub(stranger, await pressButton(stranger), undefined, 'guest');
  const { url } = await stranger.open(`${app}/browser/`);
  assert.match(url, /\/login/, refused.html);
});
