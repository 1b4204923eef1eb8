// docs/recipes/sp-superset.md, by PyPI's apache-superset.
import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { Browser, freePorts, random } from './harness.mjs';
import {
  APP, HUB, JANE, createFolder, productPython, readRecipe, replaceAll, runSuccessfully, signInThroughHub, skipWithoutPython, startHubForSp, startProduct,
} from './recipes.mjs';

test('Superset signs in with the files of its recipe, and maps groups to roles', { skip: skipWithoutPython('superset') }, async (t) => {
  const page = readRecipe('sp-superset');
  const [port] = await freePorts(1);
  const app = `http://localhost:${port}`;
  const secret = random(32);
  const hub = await startHubForSp('hub-recipe-superset', {
    files: { 'service-providers/superset.toml': replaceAll(page.file('config/service-providers/superset.toml'), { [APP]: app }), 'superset.secret': secret },
  });
  t.after(() => hub.stop());
  const data = createFolder({});
  t.after(data.remove);
  const { folder, remove } = createFolder({
    'superset_config.py': `${replaceAll(page.file('superset_config.py'), { [HUB]: hub.base })}\nSQLALCHEMY_DATABASE_URI = "sqlite:///${data.folder}/superset.db"\nTALISMAN_ENABLED = False\n`,
  });
  t.after(remove);
  const python = productPython('superset');
  const options = {
    cwd: data.folder,
    env: { ...process.env, SUPERSET_CONFIG_PATH: path.join(folder, 'superset_config.py'), SUPERSET_HOME: data.folder, FLASK_APP: 'superset', CLIENT_SECRET: secret, SESSION_SECRET: random(42) },
  };
  for (const args of [['db', 'upgrade'], ['init']]) await runSuccessfully(python, ['-c', 'from superset.cli.main import superset; superset()', ...args], options);
  const superset = await startProduct('superset', python, ['-m', 'flask', 'run', '--host', '127.0.0.1', '--port', String(port)], { ready: `${app}/health`, seconds: 180, ...options });
  t.after(superset.stop);
  const browser = new Browser();
  const back = await signInThroughHub(browser, await browser.open(`${app}/login/passerelle`));
  assert.equal(back.status, 200, `${back.url}\n${back.html}\n${superset.output()}`);
  const { result } = JSON.parse((await browser.open(`${app}/api/v1/me/roles/`)).html);
  assert.deepEqual([result.username, result.firstName, result.lastName, result.email], [JANE.preferred_username, 'Jane', 'Doe', JANE.email]);
  assert.deepEqual(Object.keys(result.roles).toSorted(), ['Alpha', 'Gamma', 'Public']);
});
