// docs/recipes/idp-simplesamlphp.md, by Debian's package.
import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { Browser, freePorts, skipUnlessAll } from './harness.mjs';
import { HUB, allowLoopback, checkOnline, createFolder, deleteHubCookies, findProgram, readRecipe, replaceAll, skipWithout, startHubForIdp, startProduct } from './recipes.mjs';
import { continueSaml, hubCertificate, selfSigned } from './saml-idp.mjs';

const INSTALLED = '/usr/share/simplesamlphp/www';
const skip = existsSync(INSTALLED) ? skipWithout('php', 'apt-get install php-cli.') || skipUnlessAll : 'SimpleSAMLphp is not there: apt-get install simplesamlphp php-cli php-xml php-mbstring.';
const IDP = 'https://idp.example.org/simplesaml';
const PASSWORD = 'the-password';

test('a person of SimpleSAMLphp signs in and out with the files of its recipe', { skip }, async (t) => {
  const page = readRecipe('idp-simplesamlphp');
  const [port, privatePort, idpPort] = await freePorts(3);
  const base = `http://localhost:${idpPort}`;
  const { key, certificate } = selfSigned('simplesamlphp');
  const { folder, remove } = createFolder({
    'data/.keep': '', 'tmp/.keep': '', 'sessions/.keep': '', 'cert/saml.pem': key, 'cert/saml.crt': certificate,
    'authsources.php': `<?php $config = ['people' => ['exampleauth:UserPass', 'jane:${PASSWORD}' => ['uid' => ['jane'], 'displayName' => ['Jane Doe'], 'givenName' => ['Jane'], 'sn' => ['Doe'], 'mail' => ['jane@example.org']]]];`,
    'metadata/saml20-idp-hosted.php': replaceAll(page.file('metadata/saml20-idp-hosted.php'), { [IDP]: base }),
  });
  t.after(remove);
  writeFileSync(`${folder}/config.php`, `<?php $config = [
    'baseurlpath' => '${base}/', 'certdir' => '${folder}/cert/', 'loggingdir' => '${folder}/', 'datadir' => '${folder}/data/', 'tempdir' => '${folder}/tmp',
    'metadatadir' => '${folder}/metadata/', 'attributenamemapdir' => '/etc/simplesamlphp/attributemap/', 'secretsalt' => 'for-a-test-only-0123456789',
    'auth.adminpassword' => 'for-a-test-only', 'technicalcontact_email' => 'it@example.org', 'timezone' => 'UTC', 'logging.handler' => 'errorlog',
    'session.cookie.secure' => false, 'session.cookie.samesite' => null, 'language.cookie.secure' => false, 'session.phpsession.savepath' => '${folder}/sessions',
    'store.type' => 'phpsession', 'enable.saml20-idp' => true, 'module.enable' => ['core' => true, 'saml' => true, 'exampleauth' => true],
    'metadata.sources' => [['type' => 'flatfile']]];`);
  const php = await startProduct('simplesamlphp', findProgram('php'), ['-S', `127.0.0.1:${idpPort}`, '-t', INSTALLED], {
    ready: `${base}/saml2/idp/metadata.php`, env: { ...process.env, SIMPLESAMLPHP_CONFIG_DIR: folder },
  });
  t.after(php.stop);
  const connector = allowLoopback(replaceAll(page.file('connectors/simplesamlphp.toml'), { [IDP]: base }));
  const hub = await startHubForIdp('hub-recipe-simplesamlphp', {
    ports: [port, privatePort], files: { 'simplesamlphp.xml': await fetch(`${base}/saml2/idp/metadata.php`).then((response) => response.text()) },
    connectors: { simplesamlphp: connector, encrypted: `${connector}allow_cbc = true\n` },
  });
  t.after(hub.stop);
  const remote = replaceAll(page.file('metadata/saml20-sp-remote.php'), { [HUB]: hub.base, 'THE-CERTIFICATE': await hubCertificate(hub, 'simplesamlphp') });
  const encryptedKeys = await Promise.all(['signing', 'encryption'].map(async (use) => `['signing' => ${use === 'signing'}, 'encryption' => ${use === 'encryption'}, 'type' => 'X509Certificate', 'X509Certificate' => '${await hubCertificate(hub, 'encrypted', use)}']`));
  const encrypted = remote.replaceAll('/simplesamlphp/saml/', '/encrypted/saml/').replace(/'certData' => .*/, `'keys' => [${encryptedKeys}], 'nameid.encryption' => true,`);
  writeFileSync(`${folder}/metadata/saml20-sp-remote.php`, `${remote}${encrypted.replace('<?php', '')}`);
  await checkOnline(hub, 'simplesamlphp');
  const authenticate = async (browser, login, stopAt) => {
    const next = login.html.includes('name="password"') ? await browser.submit(login, { values: { username: 'jane', password: PASSWORD } }) : login;
    return continueSaml(browser, next, stopAt);
  };
  const browser = new Browser();
  const { claims, person, idToken } = await hub.signIn('simplesamlphp', authenticate, { browser });
  assert.deepEqual([person.name, person.given_name, person.family_name, person.email], ['Jane Doe', 'Jane', 'Doe', 'jane@example.org']);
  assert.deepEqual(claims.amr.toSorted(), ['hub', 'pwd']);
  const again = await hub.signIn('simplesamlphp', authenticate, { browser, more: { prompt: 'login' } });
  assert.deepEqual([again.asked, again.claims.sub], [true, claims.sub]);
  // Its own session answers at once.
  deleteHubCookies(browser);
  const later = await hub.signIn('simplesamlphp', authenticate, { browser });
  assert.deepEqual([later.claims.sub, later.claims.auth_time], [claims.sub, again.claims.auth_time]);
  const out = await browser.open(hub.signOutUrl(later.idToken ?? idToken), { stopAt: hub.postLogoutUri });
  assert.ok(out.url.startsWith(hub.postLogoutUri), `${out.status} ${out.url}\n${out.html}`);
  // Its session has ended too: it asks for the password.
  let page2;
  deleteHubCookies(browser);
  await hub.signIn('simplesamlphp', async (_, login, stopAt) => { page2 = login; return authenticate(_, login, stopAt); }, { browser });
  assert.match(page2.html, /name="password"/);
  // It ends the session at the hub.
  const silently = { browser, more: { prompt: 'none' } };
  assert.equal((await hub.signIn('simplesamlphp', authenticate, silently)).claims.sub, claims.sub);
  const endSession = () => browser.open(`${base}/saml2/idp/SingleLogoutService.php?ReturnTo=${encodeURIComponent(`${base}/`)}`);
  await endSession();
  await assert.rejects(hub.signIn('simplesamlphp', authenticate, silently), { error: 'login_required' });
  // Also if it encrypts the NameID, in the assertion and in its logout request.
  const hidden = await hub.signIn('encrypted', authenticate, { browser });
  assert.equal((await hub.signIn('encrypted', authenticate, silently)).claims.sub, hidden.claims.sub);
  await endSession();
  await assert.rejects(hub.signIn('encrypted', authenticate, silently), { error: 'login_required' });
});
