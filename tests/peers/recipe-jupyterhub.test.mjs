// docs/recipes/sp-jupyterhub.md, by PyPI's jupyterhub and npm's configurable-http-proxy.
import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { Browser, freePorts, listens, random } from './harness.mjs';
import {
  APP, GROUPS_OF_JANE, HUB, createFolder, findProgram, productPython, readRecipe, replaceAll, signInThroughHub, skipWithoutPython, startHubForSp, startProduct,
} from './recipes.mjs';

test('JupyterHub signs in a member of an allowed group with the files of its recipe', { skip: skipWithoutPython('jupyterhub') }, async (t) => {
  const page = readRecipe('sp-jupyterhub');
  const [port, apiPort, hubPort] = await freePorts(3);
  const app = `http://localhost:${port}`;
  const [secret, token] = [random(32), random(32)];
  const hub = await startHubForSp('hub-recipe-jupyterhub', {
    files: { 'service-providers/jupyterhub.toml': replaceAll(page.file('config/service-providers/jupyterhub.toml'), { [APP]: app }), 'jupyterhub.secret': secret },
  });
  t.after(() => hub.stop());
  const { folder, remove } = createFolder({
    'jupyterhub_config.py': `${replaceAll(page.file('jupyterhub_config.py'), { [HUB]: hub.base, [APP]: app })}
c.JupyterHub.bind_url = "http://127.0.0.1:${port}"
c.JupyterHub.hub_port = ${hubPort}
c.JupyterHub.spawner_class = "simple"
c.JupyterHub.services = [{"name": "test", "api_token": "${token}"}]
c.JupyterHub.load_roles = [{"name": "test", "scopes": ["read:users"], "services": ["test"]}]
c.ConfigurableHTTPProxy.api_url = "http://127.0.0.1:${apiPort}"
c.ConfigurableHTTPProxy.should_start = False
`,
  });
  t.after(remove);
  const env = { ...process.env, CLIENT_SECRET: secret, CONFIGPROXY_AUTH_TOKEN: random(32) };
  const proxy = await startProduct('jupyterhub-proxy', process.execPath, [
    findProgram('jupyterhub/node_modules/.bin/configurable-http-proxy'), '--ip', '127.0.0.1', '--port', String(port), '--api-ip', '127.0.0.1', '--api-port', String(apiPort),
  ], { ready: () => listens(port), env });
  t.after(proxy.stop);
  const jupyterhub = await startProduct('jupyterhub', productPython('jupyterhub'), ['-B', '-m', 'jupyterhub', '-f', path.join(folder, 'jupyterhub_config.py')], {
    // The proxy answers 404 before JupyterHub listens.
    ready: () => fetch(`${app}/hub/health`).then(({ ok }) => ok, () => false), cwd: folder, env,
  });
  t.after(jupyterhub.stop);
  const browser = new Browser();
  const back = await signInThroughHub(browser, await browser.open(`${app}/hub/home`));
  assert.equal(back.status, 200, `${back.url}\n${back.html}\n${jupyterhub.output()}`);
  assert.equal(back.url, `${app}/hub/home`);
  const person = await fetch(`${app}/hub/api/users/jane`, { headers: { authorization: `token ${token}` } }).then((response) => response.json());
  assert.deepEqual([person.name, person.groups?.toSorted()], ['jane', GROUPS_OF_JANE], JSON.stringify(person));
  // A person without the allowed group.
  const stranger = new Browser();
  const choice = await stranger.open(`${app}/hub/home`);
  const refused = await signInThroughHub(stranger, choice, undefined, 'guest');
  assert.equal(refused.status, 403, refused.html);
});
