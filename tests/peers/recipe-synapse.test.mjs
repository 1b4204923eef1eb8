// docs/recipes/sp-synapse.md, by PyPI's matrix-synapse.
import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { Browser, freePorts, random, waitUntil } from './harness.mjs';
import {
  APP, HUB, JANE, createFolder, productPython, readRecipe, replaceAll, runSuccessfully, signInThroughHub, signOutAtHub, skipWithoutPython, startHubForSp, startProduct,
} from './recipes.mjs';

test('Synapse creates an account by the files of its recipe, and the hub signs its devices out', { skip: skipWithoutPython('synapse') }, async (t) => {
  const page = readRecipe('sp-synapse');
  const [port] = await freePorts(1);
  const app = `http://localhost:${port}`;
  const client = 'https://element.example.org/';
  const secret = random(32);
  const file = replaceAll(page.file('config/service-providers/synapse.toml'), { [APP]: app });
  const hub = await startHubForSp('hub-recipe-synapse', {
    files: { 'service-providers/synapse.toml': `${file}internal_hosts = ["localhost", "127.0.0.1"]\n`, 'synapse.secret': secret },
  });
  t.after(() => hub.stop());
  const { folder, remove } = createFolder({ 'passerelle.secret': secret });
  t.after(remove);
  const config = createFolder({
    'homeserver.yaml': `server_name: example.org
public_baseurl: ${app}/
pid_file: ${folder}/pid
listeners: [{ port: ${port}, type: http, bind_addresses: ["127.0.0.1"], resources: [{ names: [client] }] }]
database: { name: sqlite3, args: { database: ${folder}/synapse.db } }
signing_key_path: ${folder}/signing.key
media_store_path: ${folder}/media
trusted_key_servers: []
report_stats: false
macaroon_secret_key: ${random(32)}
form_secret: ${random(32)}
`,
    // Synapse requires https of an issuer unless it is asked not to verify the metadata.
    'conf.d/passerelle.yaml': replaceAll(page.file('conf.d/passerelle.yaml'), {
      [HUB]: hub.base, '/etc/matrix-synapse': folder, '    client_id: synapse': '    client_id: synapse\n    skip_verification: true',
    }),
  });
  t.after(config.remove);
  const program = ['-B', '-m', 'synapse.app.homeserver', '-c', path.join(config.folder, 'homeserver.yaml'), '-c', path.join(config.folder, 'conf.d')];
  await runSuccessfully(productPython('synapse'), [...program, '--generate-keys'], { cwd: folder });
  const synapse = await startProduct('synapse', productPython('synapse'), program, { ready: `${app}/_matrix/client/versions`, cwd: folder });
  t.after(synapse.stop);
  const api = (address, options) => fetch(`${app}/_matrix/client/v3${address}`, options);
  const { flows } = await api('/login').then((response) => response.json());
  assert.deepEqual(flows.find(({ type }) => type === 'm.login.sso').identity_providers.map(({ id, name }) => [id, name]), [['oidc-passerelle', 'Passerelle']]);

  const start = `${app}/_matrix/client/v3/login/sso/redirect/oidc-passerelle?redirectUrl=${encodeURIComponent(client)}`;
  const browser = new Browser();
  const back = await signInThroughHub(browser, await browser.open(start, { stopAt: client }), client);
  assert.ok(back.stopped, `${back.status} ${back.url}\n${back.html}\n${synapse.output()}`);
  const login = await api('/login', { method: 'POST', body: JSON.stringify({ type: 'm.login.token', token: new URL(back.url).searchParams.get('loginToken') }) });
  const { user_id, access_token } = await login.json();
  const headers = { authorization: `Bearer ${access_token}` };
  assert.equal(user_id, '@jane:example.org');
  assert.equal((await api(`/profile/${user_id}`, { headers }).then((response) => response.json())).displayname, JANE.name);
  assert.deepEqual((await api('/account/3pid', { headers }).then((response) => response.json())).threepids.map(({ address }) => address), [JANE.email]);

  const stranger = new Browser();
  const refused = await signInThroughHub(stranger, await stranger.open(start, { stopAt: client }), client, 'guest');
  assert.match(refused.html, /You are not allowed to log in here/);

  await signOutAtHub(browser, hub);
  await waitUntil(() => api('/account/whoami', { headers }).then(({ status }) => status === 401), 'the end of the device');
});
