// docs/recipes/idp-openldap.md, by Debian's package slapd.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ADMIN, BASE, PASSWORD, startDirectory } from './directory.mjs';
import { IDP_SECRET, freePorts, skipUnlessAll } from './harness.mjs';
import { checkOnline, readRecipe, replaceAll, runSuccessfully, skipWithout, startHubForIdp } from './recipes.mjs';

const skip = skipWithout('ldapmodify', 'apt-get install ldap-utils.') || skipUnlessAll;

test('a person of OpenLDAP signs in with the files of its recipe, with the groups', { skip }, async (t) => {
  const page = readRecipe('idp-openldap');
  const [port, privatePort] = await freePorts(2);
  const directory = await startDirectory({ recipe: { configuration: page.file('passerelle.conf'), entries: replaceAll(page.file('hub.ldif'), { 'THE-PASSWORD': IDP_SECRET }) } });
  t.after(directory.stop);
  await runSuccessfully('ldapmodify', ['-x', '-H', `ldap://127.0.0.1:${directory.port}`, '-D', ADMIN.dn, '-w', ADMIN.password], {
    input: ['editors', 'others'].map((name) => `dn: cn=${name},ou=groups,${BASE}
changetype: add
objectClass: groupOfNames
cn: ${name}
member: uid=angela,ou=people,${BASE}
`).join('\n'),
  });
  const hub = await startHubForIdp('hub-recipe-openldap', {
    ports: [port, privatePort], files: { 'openldap.secret': IDP_SECRET, 'openldap-ca.pem': directory.ca },
    connectors: {
      openldap: replaceAll(page.file('connectors/openldap.toml'), { 'ldaps://directory.example.org': `ldaps://localhost:${directory.tlsPort}`, '"directory.example.org"': '"localhost"' }),
    },
  });
  t.after(hub.stop);
  await checkOnline(hub, 'openldap');
  const { claims, person } = await hub.signIn('openldap', (browser, login, stopAt) => browser.submit(login, { values: { username: 'angela', password: PASSWORD }, stopAt }));
  assert.deepEqual([person.preferred_username, person.family_name, person.email, person.groups], ['angela', 'Dubois', 'angela@example.org', ['editors']]);
  assert.deepEqual(claims.amr.toSorted(), ['hub', 'pwd']);
});
