// docs/recipes/idp-dex.md
import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { Browser, IDP_SECRET, freePorts } from './harness.mjs';
import { HUB, findProgram, createFolder, deleteHubCookies, allowLoopback, readRecipe, replaceAll, startHubForIdp, startProduct, skipWithout } from './recipes.mjs';

// bcrypt of "password", as Dex's own examples have it.
const PASSWORDS = `
storage:
  type: memory
enablePasswordDB: true
staticPasswords:
  - email: jane@example.org
    hash: "$2a$10$2b2cU8CPhOTaGrs1HRQuAueS7JTT5ZHsHSzYiFPm1leZck7Mc8T4W"
    username: jane
    userID: 08a8684b-db88-4b73-90a9-3cd1661f5466
`;

test('a person of Dex signs in with the files of its recipe', { skip: skipWithout('dex', 'Build or take a release of Dex.') }, async (t) => {
  const page = readRecipe('idp-dex');
  const [port, privatePort, dexPort] = await freePorts(3);
  const issuer = `http://localhost:${dexPort}`;
  const secret = IDP_SECRET;
  const { folder, remove } = createFolder({
    'config.yaml': `${replaceAll(page.file('config.yaml'), { 'https://dex.example.org': issuer, [HUB]: `http://localhost:${port}` })}
web:
  http: 127.0.0.1:${dexPort}${PASSWORDS}`,
  });
  t.after(remove);
  const dex = await startProduct('dex', findProgram('dex'), ['serve', path.join(folder, 'config.yaml')], {
    ready: `${issuer}/.well-known/openid-configuration`, env: { ...process.env, PASSERELLE_CLIENT_SECRET: secret },
  });
  t.after(dex.stop);
  const hub = await startHubForIdp('hub-recipe-dex', {
    ports: [port, privatePort], files: { 'dex.secret': secret },
    connectors: { dex: allowLoopback(replaceAll(page.file('connectors/dex.toml'), { 'https://dex.example.org': issuer })) },
  });
  t.after(hub.stop);
  const authenticate = (browser, login, stopAt) => browser.submit(login, { values: { login: 'jane@example.org', password: 'password' }, stopAt });
  const { claims, person } = await hub.signIn('dex', authenticate);
  assert.deepEqual([person.email, person.email_verified, person.name], ['jane@example.org', true, 'jane']);
  assert.deepEqual(claims.amr.toSorted(), ['hub', 'pwd']);
  // The same browser again, with prompt=login: Dex asks for the password, and it is the same person.
  const browser = new Browser();
  const first = await hub.signIn('dex', authenticate, { browser });
  deleteHubCookies(browser);
  const fresh = await hub.signIn('dex', authenticate, { browser });
  assert.deepEqual([fresh.asked, fresh.claims.sub], [true, claims.sub]);
  const again = await hub.signIn('dex', authenticate, { browser, more: { prompt: 'login' } });
  assert.deepEqual([first.claims.sub, again.claims.sub, again.asked], [claims.sub, claims.sub, true]);
});
