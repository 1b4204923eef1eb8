// docs/recipes/sp-authlib.md. PYTHON names an interpreter that has python-sp/requirements.txt (tests/install makes one).
import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { Browser, freePorts, random } from './harness.mjs';
import { APP, HUB, JANE, createFolder, readRecipe, replaceAll, startHubForSp, startProduct, signInThroughHub } from './recipes.mjs';

test('Authlib in Flask signs in with the files of its recipe', async (t) => {
  const page = readRecipe('sp-authlib');
  const [port] = await freePorts(1);
  const app = `http://localhost:${port}`;
  const secret = random(32);
  const hub = await startHubForSp('hub-recipe-authlib', {
    files: { 'service-providers/authlib.toml': replaceAll(page.file('config/service-providers/authlib.toml'), { [APP]: app }), 'authlib.secret': secret },
  });
  t.after(() => hub.stop());
  const { folder, remove } = createFolder({ 'app.py': replaceAll(page.file('app.py'), { [HUB]: hub.base, [APP]: app }) });
  t.after(remove);
  const flask = await startProduct('authlib', process.env.PYTHON ?? 'python3', ['-B', '-m', 'flask', '--app', path.join(folder, 'app.py'), 'run', '--port', String(port)], {
    ready: `http://127.0.0.1:${port}/`, env: { ...process.env, CLIENT_SECRET: secret, SESSION_SECRET: random(32), AUTHLIB_INSECURE_TRANSPORT: '1' },
  });
  t.after(flask.stop);
  const browser = new Browser();
  const back = await signInThroughHub(browser, await browser.open(`${app}/`));
  assert.equal(back.status, 200, `${back.html}\n${flask.output()}`);
  const person = JSON.parse(back.html);
  for (const [name, value] of Object.entries(JANE)) assert.equal(person[name], value);
});
