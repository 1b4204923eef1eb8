// docs/recipes/idp-glauth.md
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { IDP_SECRET, freePorts, random, sha256 } from './harness.mjs';
import { findProgram, createFolder, readRecipe, replaceAll, startHubForIdp, startProduct, skipWithout } from './recipes.mjs';

test('a person of GLAuth signs in with the files of its recipe', { skip: skipWithout('glauth', 'Take a release of GLAuth.') }, async (t) => {
  const page = readRecipe('idp-glauth');
  const [port, privatePort, tlsPort, apiPort] = await freePorts(4);
  const [secret, password] = [IDP_SECRET, random(12)];
  const hash = (word) => sha256(word).toString('hex');
  const { folder, remove } = createFolder({});
  t.after(remove);
  const file = (name) => path.join(folder, name);
  execFileSync('openssl', [
    'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2', '-subj', '/CN=directory',
    '-addext', 'subjectAltName=DNS:localhost', '-addext', 'basicConstraints=critical,CA:FALSE', '-keyout', file('glauth.key'), '-out', file('glauth.crt'),
  ], { stdio: 'pipe' });
  const config = createFolder({
    'glauth.cfg': replaceAll(page.file('glauth.cfg'), {
      '0.0.0.0:636': `127.0.0.1:${tlsPort}`, '/etc/glauth': folder, 'SHA256-OF-THE-PASSWORD-OF-HUB': hash(secret), 'SHA256-OF-THE-PASSWORD-OF-JANE': hash(password),
    }) + `\n[api]\n  enabled = true\n  listen = "127.0.0.1:${apiPort}"\n`,
  });
  t.after(config.remove);
  const glauth = await startProduct('glauth', findProgram('glauth'), ['-c', path.join(config.folder, 'glauth.cfg')], { ready: `http://127.0.0.1:${apiPort}/` });
  t.after(glauth.stop);
  const hub = await startHubForIdp('hub-recipe-glauth', {
    ports: [port, privatePort], files: { 'glauth.secret': secret, 'glauth-ca.pem': readFileSync(file('glauth.crt'), 'utf8') },
    connectors: {
      glauth: replaceAll(page.file('connectors/glauth.toml'), { 'ldaps://directory.example.org': `ldaps://localhost:${tlsPort}`, '"directory.example.org"': '"localhost"' }),
    },
  });
  t.after(hub.stop);
  const { claims, person } = await hub.signIn('glauth', (browser, login, stopAt) => browser.submit(login, { values: { username: 'jane', password }, stopAt }));
  assert.deepEqual([person.preferred_username, person.given_name, person.family_name, person.email], ['jane', 'Jane', 'Doe', 'jane@example.org']);
  assert.deepEqual(claims.amr.toSorted(), ['hub', 'pwd']);
  const refused = hub.signIn('glauth', (browser, login, stopAt) => browser.submit(login, { values: { username: 'jane', password: 'wrong' }, stopAt }));
  await assert.rejects(refused, /no return to the service: 403/);
});
