// docs/recipes/idp-lemonldap-ng.md and idp-lemonldap-ng-saml.md, by Debian's packages, with the accounts of LemonLDAP::NG's demonstration.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { Browser, IDP_SECRET, freePorts, skipUnlessAll } from './harness.mjs';
import { HUB, allowLoopback, checkOnline, createFolder, findProgram, readRecipe, replaceAll, skipWithout, startHubForIdp, startProduct } from './recipes.mjs';
import { continueSaml, hubMetadata, selfSigned } from './saml-idp.mjs';

const INSTALLED = '/var/lib/lemonldap-ng';
const configuration = `${INSTALLED}/conf/lmConf-1.json`;
const skip = existsSync(configuration) ? skipWithout('plackup', 'apt-get install libplack-perl.') || skipUnlessAll
  : 'LemonLDAP::NG is not there: apt-get install liblemonldap-ng-portal-perl and what tests/install names.';

const skipWithoutLasso = spawnSync('perl', ['-MLasso', '-MXML::Simple', '-e1']).status === 0 ? false : 'Lasso is not there: apt-get install liblasso-perl libxml-simple-perl.';

/** Starts the portal of the demonstration with these settings. `configure(settings)` starts it again with others. */
async function startPortal(t, portalPort, settings, ready) {
  const base = `http://localhost:${portalPort}`;
  const { folder, remove } = createFolder({ 'sessions/lock/.keep': '', 'psessions/lock/.keep': '', 'cache/.keep': '' });
  t.after(remove);
  const json = (own) => JSON.stringify({
    ...JSON.parse(readFileSync(configuration, 'utf8').replaceAll(INSTALLED, folder)), ...own, portal: `${base}/`, domain: 'localhost',
  });
  const config = createFolder({ 'conf/lmConf-1.json': json(settings), 'app.psgi': 'use Lemonldap::NG::Portal; Lemonldap::NG::Portal->run({});\n' });
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
  const start = async () => {
    const portal = await startProduct('lemonldap-ng', findProgram('plackup'), ['-E', 'deployment', '-o', '127.0.0.1', '-p', String(portalPort), path.join(config.folder, 'app.psgi')], {
      ready: base + ready, cwd: folder, env: { ...process.env, LLNG_DEFAULTCONFFILE: path.join(ini.folder, 'lemonldap-ng.ini') },
    });
    t.after(portal.stop);
    return portal;
  };
  const portal = await start();
  return { base, async configure(own) { await portal.stop(); writeFileSync(path.join(config.folder, 'conf/lmConf-1.json'), json(own)); await start(); } };
}
const authenticate = (browser, login, stopAt) => browser.submit(login, { values: { user: 'dwho', password: 'dwho' }, stopAt });

test('a person of LemonLDAP::NG signs in and out with the files of its recipe, with the groups', { skip }, async (t) => {
  const page = readRecipe('idp-lemonldap-ng');
  const [port, privatePort, portalPort] = await freePorts(3);
  const base = `http://localhost:${portalPort}`;
  const secret = IDP_SECRET;
  const settings = replaceAll(page.file('passerelle.json'), { 'https://auth.example.org': base, [HUB]: `http://localhost:${port}`, 'THE-SECRET': secret });
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048, publicKeyEncoding: { type: 'spki', format: 'pem' }, privateKeyEncoding: { type: 'pkcs8', format: 'pem' } });
  await startPortal(t, portalPort, { ...JSON.parse(settings), oidcServicePrivateKeySig: privateKey, oidcServicePublicKeySig: publicKey, oidcServiceKeyIdSig: 'one' }, '/.well-known/openid-configuration');
  const hub = await startHubForIdp('hub-recipe-lemonldap-ng', {
    ports: [port, privatePort], files: { 'lemonldap.secret': secret },
    connectors: { lemonldap: allowLoopback(replaceAll(page.file('connectors/lemonldap.toml'), { 'https://auth.example.org': base })) },
  });
  t.after(hub.stop);
  await checkOnline(hub, 'lemonldap');
  const browser = new Browser();
  const { claims, person, idToken } = await hub.signIn('lemonldap', authenticate, { browser });
  assert.deepEqual([person.name, person.preferred_username, person.email, person.groups.toSorted()], ['Doctor Who', 'dwho', 'dwho@badwolf.org', ['editors', 'timelords', 'users']]);
  assert.deepEqual(claims.amr.toSorted(), ['hub', 'pwd']);
  const out = await browser.open(hub.signOutUrl(idToken), { stopAt: hub.postLogoutUri });
  assert.ok(out.url.startsWith(hub.postLogoutUri), `${out.status} ${out.url}\n${out.html}`);
});

test('a person of LemonLDAP::NG signs in and out by SAML with the files of its recipe', { skip: skip || skipWithoutLasso }, async (t) => {
  const page = readRecipe('idp-lemonldap-ng-saml');
  const [port, privatePort, portalPort] = await freePorts(3);
  const { key, certificate } = selfSigned('lemonldap');
  const own = { samlServicePrivateKeySig: key, samlServicePublicKeySig: certificate, issuerDBSAMLActivation: 1 };
  const portal = await startPortal(t, portalPort, own, '/saml/metadata');
  const hub = await startHubForIdp('hub-recipe-lemonldap-ng-saml', {
    ports: [port, privatePort], files: { 'lemonldap-saml.xml': await fetch(`${portal.base}/saml/metadata`).then((response) => response.text()) },
    connectors: { 'lemonldap-saml': allowLoopback(replaceAll(page.file('connectors/lemonldap-saml.toml'), { 'https://auth.example.org': portal.base })) },
  });
  t.after(hub.stop);
  const settings = replaceAll(page.file('passerelle-saml.json'), { 'THE-METADATA': JSON.stringify(await hubMetadata(hub, 'lemonldap-saml')).slice(1, -1) });
  await portal.configure({ ...own, ...JSON.parse(settings) });
  await checkOnline(hub, 'lemonldap-saml');
  const enter = async (browser, login, stopAt) => continueSaml(browser, login.html.includes('name="password"') ? await authenticate(browser, login) : login, stopAt);
  const browser = new Browser();
  const { claims, person, idToken } = await hub.signIn('lemonldap-saml', enter, { browser });
  assert.deepEqual([person.name, person.preferred_username, person.email], ['Doctor Who', 'dwho', 'dwho@badwolf.org']);
  assert.deepEqual(claims.amr.toSorted(), ['hub', 'pwd']);
  const again = await hub.signIn('lemonldap-saml', enter);
  assert.equal(again.claims.sub, claims.sub);
  const out = await browser.open(hub.signOutUrl(idToken), { stopAt: hub.postLogoutUri });
  assert.ok(out.url.startsWith(hub.postLogoutUri), `${out.status} ${out.url}\n${out.html}`);
});
