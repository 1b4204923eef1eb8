// docs/recipes/idp-lemonldap-ng.md, by Debian's packages, with the accounts of LemonLDAP::NG's demonstration.
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { Browser, IDP_SECRET, freePorts, skipUnlessAll } from './harness.mjs';
import { HUB, allowLoopback, checkOnline, createFolder, findProgram, readRecipe, replaceAll, skipWithout, startHubForIdp, startProduct } from './recipes.mjs';

const INSTALLED = '/var/lib/lemonldap-ng';
const configuration = `${INSTALLED}/conf/lmConf-1.json`;
const skip = existsSync(configuration) ? skipWithout('plackup', 'apt-get install libplack-perl.') || skipUnlessAll
  : 'LemonLDAP::NG is not there: apt-get install liblemonldap-ng-portal-perl and what tests/install names.';

test('a person of LemonLDAP::NG signs in and out with the files of its recipe, with the groups', { skip }, async (t) => {
  const page = readRecipe('idp-lemonldap-ng');
  const [port, privatePort, portalPort] = await freePorts(3);
  const base = `http://localhost:${portalPort}`;
  const secret = IDP_SECRET;
  const settings = replaceAll(page.file('passerelle.json'), { 'https://auth.example.org': base, [HUB]: `http://localhost:${port}`, 'THE-SECRET': secret });
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048, publicKeyEncoding: { type: 'spki', format: 'pem' }, privateKeyEncoding: { type: 'pkcs8', format: 'pem' } });
  const { folder, remove } = createFolder({ 'sessions/lock/.keep': '', 'psessions/lock/.keep': '', 'cache/.keep': '' });
  t.after(remove);
  const config = createFolder({
    'conf/lmConf-1.json': JSON.stringify({
      ...JSON.parse(readFileSync(configuration, 'utf8').replaceAll(INSTALLED, folder)), ...JSON.parse(settings),
      portal: `${base}/`, domain: 'localhost', oidcServicePrivateKeySig: privateKey, oidcServicePublicKeySig: publicKey, oidcServiceKeyIdSig: 'one',
    }),
    'app.psgi': 'use Lemonldap::NG::Portal; Lemonldap::NG::Portal->run({});\n',
  });
  t.after(config.remove);
  const ini = createFolder({
    'lemonldap-ng.ini': `[all]
logLevel = warn
[configuration]
type = File
dirName = ${config.folder}/conf
[portal]
staticPrefix = /static
templateDir = /usr/share/lemonldap-ng/portal/templates
languages = en
`,
  });
  t.after(ini.remove);
  const portal = await startProduct('lemonldap-ng', findProgram('plackup'), ['-E', 'deployment', '-o', '127.0.0.1', '-p', String(portalPort), path.join(config.folder, 'app.psgi')], {
    ready: `${base}/.well-known/openid-configuration`, cwd: folder, env: { ...process.env, LLNG_DEFAULTCONFFILE: path.join(ini.folder, 'lemonldap-ng.ini') },
  });
  t.after(portal.stop);
  const hub = await startHubForIdp('hub-recipe-lemonldap-ng', {
    ports: [port, privatePort], files: { 'lemonldap.secret': secret },
    connectors: { lemonldap: allowLoopback(replaceAll(page.file('connectors/lemonldap.toml'), { 'https://auth.example.org': base })) },
  });
  t.after(hub.stop);
  await checkOnline(hub, 'lemonldap');
  const authenticate = (browser, login, stopAt) => browser.submit(login, { values: { user: 'dwho', password: 'dwho' }, stopAt });
  const browser = new Browser();
  const { claims, person, idToken } = await hub.signIn('lemonldap', authenticate, { browser });
  assert.deepEqual([person.name, person.preferred_username, person.email, person.groups.toSorted()], ['Doctor Who', 'dwho', 'dwho@badwolf.org', ['editors', 'timelords', 'users']]);
  assert.deepEqual(claims.amr.toSorted(), ['hub', 'pwd']);
  const out = await browser.open(hub.signOutUrl(idToken), { stopAt: hub.postLogoutUri });
  assert.ok(out.url.startsWith(hub.postLogoutUri), `${out.status} ${out.url}\n${out.html}`);
});
