// docs/recipes/idp-389-ds.md, by Debian's package 389-ds-base, in a folder of the test's own and as another user than root.
import assert from 'node:assert/strict';
import { chmodSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { IDP_SECRET, freePorts, random, skipUnlessAll } from './harness.mjs';
import { checkOnline, createFolder, readRecipe, replaceAll, runSuccessfully, skipWithout, startHubForIdp } from './recipes.mjs';

const skip = skipWithout('dscreate', 'apt-get install 389-ds-base ldap-utils.') || skipUnlessAll;
const DIRECTORY_MANAGER = 'the-directory-manager';
const PASSWORD = random(12);

test('a person of 389 Directory Server signs in with the files of its recipe, with the groups', { skip }, async (t) => {
  const page = readRecipe('idp-389-ds');
  const [port, privatePort, ldapPort, tlsPort] = await freePorts(4);
  const { folder, remove } = createFolder({
    'example.inf': `[general]
config_version = 2
systemd = False
selinux = False
[slapd]
instance_name = example
port = ${ldapPort}
secure_port = ${tlsPort}
root_password = ${DIRECTORY_MANAGER}
[backend-userroot]
suffix = dc=example,dc=org
sample_entries = yes
`,
  });
  chmodSync(folder, 0o777);
  chmodSync(path.join(folder, 'example.inf'), 0o644);
  const bin = path.join(folder, 'bin');
  // dscreate refuses a root of its own to the user root.
  const run = (program, args, options) => runSuccessfully(...(process.getuid() === 0 ? ['runuser', ['-u', 'dirsrv', '--', program, ...args]] : [program, args]), {
    cwd: folder, env: { ...process.env, HOME: folder, PATH: `${bin}${path.delimiter}${process.env.PATH}` }, ...options,
  });
  t.after(async () => {
    await run(path.join(bin, 'dsctl'), ['example', 'stop']);
    remove();
  });
  await run('dscreate', ['ds-root', path.join(folder, 'root'), bin]);
  await run(path.join(bin, 'dscreate'), ['from-file', 'example.inf']);
  await run('sh', ['-eu', '-c', page.file('setup.sh')]);
  const modify = (input) => run('ldapmodify', ['-x', '-H', `ldap://127.0.0.1:${ldapPort}`, '-D', 'cn=Directory Manager', '-w', DIRECTORY_MANAGER], { input });
  await modify(replaceAll(page.file('hub.ldif'), { 'THE-PASSWORD': IDP_SECRET }));
  await modify(`dn: uid=jane,ou=people,dc=example,dc=org
changetype: add
objectClass: inetOrgPerson
uid: jane
cn: Jane Doe
displayName: Jane Doe
givenName: Jane
sn: Doe
mail: jane@example.org
userPassword: ${PASSWORD}

${['editors', 'others'].map((name) => `dn: cn=${name},ou=groups,dc=example,dc=org
changetype: add
objectClass: groupOfNames
cn: ${name}
member: uid=jane,ou=people,dc=example,dc=org
`).join('\n')}`);
  const hub = await startHubForIdp('hub-recipe-389-ds', {
    ports: [port, privatePort], files: { 'ds389.secret': IDP_SECRET, 'ds389-ca.pem': readFileSync(path.join(folder, 'root/etc/dirsrv/slapd-example/ca.crt'), 'utf8') },
    connectors: {
      ds389: replaceAll(page.file('connectors/ds389.toml'), { 'ldaps://directory.example.org': `ldaps://localhost:${tlsPort}`, '"directory.example.org"': '"localhost"' }),
    },
  });
  t.after(hub.stop);
  await checkOnline(hub, 'ds389');
  const { claims, person } = await hub.signIn('ds389', (browser, login, stopAt) => browser.submit(login, { values: { username: 'jane', password: PASSWORD }, stopAt }));
  assert.deepEqual([person.preferred_username, person.name, person.email, person.groups], ['jane', 'Jane Doe', 'jane@example.org', ['editors']]);
  assert.deepEqual(claims.amr.toSorted(), ['hub', 'pwd']);
  const refused = hub.signIn('ds389', (browser, login, stopAt) => browser.submit(login, { values: { username: 'jane', password: 'wrong' }, stopAt }));
  await assert.rejects(refused, /no return to the service: 403/);
});
