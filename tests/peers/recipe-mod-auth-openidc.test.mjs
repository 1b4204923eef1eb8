// docs/recipes/sp-mod-auth-openidc.md, by Debian's packages apache2 and libapache2-mod-auth-openidc, as an httpd of the test's own.
import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { Browser, freePorts, random } from './harness.mjs';
import { APP, HUB, JANE, createFolder, signOutThroughHub, readRecipe, replaceAll, startHubForSp, startProduct, signInThroughHub } from './recipes.mjs';

const MODULES = '/usr/lib/apache2/modules';
const skip = existsSync('/usr/sbin/apache2') && existsSync(`${MODULES}/mod_auth_openidc.so`)
  ? false : 'mod_auth_openidc is not there: apt-get install apache2 libapache2-mod-auth-openidc';

test('mod_auth_openidc signs in and out with the files of its recipe', { skip }, async (t) => {
  const page = readRecipe('sp-mod-auth-openidc');
  const [port] = await freePorts(1);
  const app = `http://localhost:${port}`;
  const secret = random(32);
  const hub = await startHubForSp('hub-recipe-mod-auth-openidc', {
    files: {
      'service-providers/mod-auth-openidc.toml': replaceAll(page.file('config/service-providers/mod-auth-openidc.toml'), { [APP]: app }),
      'mod-auth-openidc.secret': secret,
    },
  });
  t.after(() => hub.stop());
  const { folder, remove } = createFolder({ 'htdocs/signed-out.html': 'Signed out', 'htdocs/page.shtml': '<!--#printenv -->' });
  t.after(remove);
  const file = (name) => path.join(folder, name);
  mkdirSync(file('run'));
  // Its workers are another user where root runs the test.
  for (const [name, mode] of [['.', 0o755], ['htdocs', 0o755], ['htdocs/page.shtml', 0o644], ['htdocs/signed-out.html', 0o644]]) chmodSync(file(name), mode);
  writeFileSync(file('httpd.conf'), `ServerRoot "${folder}"
ServerName localhost
Listen 127.0.0.1:${port}
PidFile ${file('run/pid')}
DefaultRuntimeDir ${file('run')}
Mutex file:${file('run')} default
ErrorLog ${file('error.log')}
${['mpm_prefork', 'authn_core', 'authz_core', 'authz_user', 'auth_openidc', 'dir', 'mime', 'include', 'headers'].map((name) => `LoadModule ${name}_module ${MODULES}/mod_${name}.so`).join('\n')}
# The test's browser is made of fetch, which says so; the module sends only navigating browsers away to sign in.
RequestHeader unset Sec-Fetch-Mode early
RequestHeader unset Sec-Fetch-Dest early
TypesConfig /etc/mime.types
DocumentRoot "${file('htdocs')}"
<Directory "${file('htdocs')}">
  Options +Includes
  AddOutputFilter INCLUDES .shtml
</Directory>
${process.getuid() === 0 ? 'User www-data\nGroup www-data' : ''}
${replaceAll(page.file('passerelle.conf'), { [HUB]: hub.base, [APP]: app })}`);
  
  const httpd = await startProduct('mod-auth-openidc', '/usr/sbin/apache2', ['-DFOREGROUND', '-f', file('httpd.conf')], {
    ready: `${app}/signed-out.html`, env: { ...process.env, CLIENT_SECRET: secret, SESSION_SECRET: random(32) },
  });
  t.after(httpd.stop);
  const browser = new Browser();
  const back = await signInThroughHub(browser, await browser.open(`${app}/page.shtml`));
  const said = () => `${httpd.output()}\n${readFileSync(file('error.log'), 'utf8')}`;
  assert.equal(back.status, 200, `${back.url}\n${back.html}\n${said()}`);
  for (const [name, value] of Object.entries(JANE)) assert.ok(back.html.includes(`OIDC_CLAIM_${name}=${value}`), `${back.html}\n${said()}`);
  const out = await signOutThroughHub(browser, `${app}/oidc/callback?logout=${encodeURIComponent(`${app}/signed-out.html`)}`, `${app}/signed-out.html`);
  assert.ok(out.url.startsWith(`${app}/signed-out.html`), out.url);
});
