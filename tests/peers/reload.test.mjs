// An identity provider is a file: dropped in, changed, broken and removed while the hub runs.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { discoverHub, buildAuthorizationRequest, startFederation } from './federation.mjs';
import { answerConsent, Browser, chooseProvider, freePorts, IDP_CLIENT, IDP_SECRET, oidcConnector, program, readText, root, startDemo, writeConnector, waitUntil } from './harness.mjs';
import { startIdp } from './real-idp.mjs';

let fed, client;
before(async () => { fed = await startFederation('hub-reload'); client = await discoverHub(fed.hub, fed.sp); });
after(async () => fed?.stop());

/** Names on a fresh choice page. */
async function offered() {
  const page = await new Browser().open((await buildAuthorizationRequest(client, fed.sp)).url);
  return [...page.html.matchAll(/name="provider" value="([^"]+)"/g)].map(([, id]) => id);
}

test('a connector file dropped in adds an identity provider, and removed takes it away, without a restart', async () => {
  const file = path.join(fed.hub.folder, 'connectors/dropped.toml');
  assert.deepEqual(await offered(), ['real']);
  writeConnector(fed.hub.folder, 'dropped', oidcConnector(fed.idp.issuer));
  await waitUntil(async () => (await offered()).includes('dropped'), 'the new connector');
  // A bad version keeps the last good one, and affects no other file.
  writeFileSync(file, 'name = 3\n[kind.nonsense]\n');
  await waitUntil(async () => fed.hub.log().includes('its last good version stays'), 'a word in the log');
  assert.deepEqual((await offered()).sort(), ['dropped', 'real']);
  rmSync(file);
  await waitUntil(async () => !(await offered()).includes('dropped'), 'its end');
  assert.deepEqual(await offered(), ['real']);
});

/** Where a login as the identity provider's `login` gets to: the page after the register was asked. */
async function identified(login) {
  const browser = new Browser();
  const upstream = await chooseProvider(browser, await browser.open((await buildAuthorizationRequest(client, fed.sp)).url), 'real');
  return (await browser.submit(upstream, { values: { login, password: 'any' } })).html;
}
const run = (args, input = '') => {
  const done = spawnSync(program, [...args, '--config', fed.hub.folder], { input, encoding: 'utf8' });
  return { code: done.status, output: done.stdout + done.stderr };
};

test('a person imported into the register file can log in, without a restart', async () => {
  const [source, register] = ['source.csv', 'register.csv'].map((name) => path.join(fed.hub.folder, name));
  const header = 'given_names,family_name,birthdate,gender,birthplace,birthcountry,status\n';
  const person = { given_names: ['Personne'], family_name: 'INCONNUE', birthdate: '1970-01-01', gender: 'female', birthplace: '75101', birthcountry: '99100' };
  const look = () => run(['register', 'lookup'], JSON.stringify(person));
  assert.ok((await identified('stranger')).includes('Y010001'));
  assert.ok(look().code === 1 && look().output.startsWith('not_found\n'), look().output);
  // A bad line: every error is reported with line, column and fix, and nothing changes.
  writeFileSync(source, `${header}Personne,INCONNUE,1970-02-30,female,75101,99100,\nA,B\n`);
  const refused = run(['register', 'import', source]);
  assert.ok(refused.code === 1 && /line 2: column `birthdate`: must be a calendar day/.test(refused.output) && /line 3: 2 fields/.test(refused.output), refused.output);
  writeFileSync(source, `${header}Personne,INCONNUE,1970-01-01,female,75101,99100,\n`);
  const done = run(['register', 'import', source]);
  assert.ok(done.code === 0 && done.output.includes('2 persons; 1 added, 0 changed, 0 removed'), done.output);
  assert.deepEqual(look(), { code: 0, output: 'found\n' });
  await waitUntil(async () => (await identified('stranger')).includes('/consent'), 'the login of who was imported');
  // A bad file leaves the last good one in use.
  const good = readFileSync(register);
  writeFileSync(register, 'a,b\n');
  await waitUntil(async () => fed.hub.log().includes('the register file is invalid; the last good one stays'), 'a word in the log');
  assert.ok((await identified('stranger')).includes('/consent'));
  writeFileSync(register, good);
});

test('a newcomer copies the template while the demo runs, signs in with a provider of their own, and takes it away', async () => {
  const demo = await startDemo('demo-newcomer');
  const [port] = await freePorts(1);
  const [, hub, folder] = demo.log().match(/standard platform\s+hub\s+(\S+)[\s\S]*?its folder\s+(\S+)/);
  const redirectUris = [`${hub}/api/v2/callback/mine`];
  const idp = await startIdp({ port, clientId: IDP_CLIENT, clientSecret: IDP_SECRET, redirectUris });
  try {
    const fields = {
      'issuer = "https://idp.example.org"': `issuer = "${idp.issuer}"`,
      'client_id = "hub"': `client_id = "${IDP_CLIENT}"`,
      'client_secret = { env = "CONNECTOR_EXAMPLE__CLIENT_SECRET" }': 'client_secret = { file = "mine.secret" }',
      '# internal_hosts = []': 'internal_hosts = ["localhost"]',
      '# insecure_http = false': 'insecure_http = true',
    };
    let file = readFileSync(path.join(root, 'connectors/example.toml.template'), 'utf8');
    for (const [given, mine] of Object.entries(fields)) {
      assert.ok(file.includes(given), given);
      file = file.replace(given, mine);
    }
    const begin = async (browser) => browser.submit(await browser.open(demo.url));
    const offers = async () => /name="provider" value="mine"/.test((await begin(new Browser())).html);
    assert.equal(await offers(), false);
    writeFileSync(path.join(folder, 'mine.secret'), IDP_SECRET);
    writeFileSync(path.join(folder, 'connectors/mine.toml'), file);
    await waitUntil(offers, 'the new account at the choice');
    const browser = new Browser();
    const upstream = await chooseProvider(browser, await begin(browser), 'mine');
    assert.ok(upstream.url.startsWith(idp.issuer), upstream.url);
    const consent = await browser.submit(upstream, { values: { login: 'angela', password: 'any', acr: 'eidas1' } });
    const done = await answerConsent(browser, consent, 'yes');
    assert.ok(done.url.startsWith(demo.url) && done.html.includes('DUBOIS'), `${done.url}: ${readText(done.html)}`);
    rmSync(path.join(folder, 'connectors/mine.toml'));
    await waitUntil(async () => !(await offers()), 'its end');
  } finally {
    await idp.close();
    await demo.stop();
  }
});
