// docs/recipes/idp-spring-authorization-server.md, in the application of recipes/spring-as/.
import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { Browser, IDP_SECRET, freePorts } from './harness.mjs';
import { HUB, createFolder, allowLoopback, readRecipe, replaceAll, springApplication, startHubForIdp, startProduct } from './recipes.mjs';

const page = readRecipe('idp-spring-authorization-server');
const { skip, build } = springApplication('spring-as', { 'src/main/java/app/Claims.java': page.file('Claims.java') });

test('a person of Spring Authorization Server signs in and out with the files of its recipe', { skip, timeout: 900_000 }, async (t) => {
  const jar = await build();
  const [port, privatePort, springPort] = await freePorts(3);
  const base = `http://localhost:${springPort}`;
  const secret = IDP_SECRET;
  const { folder, remove } = createFolder({
    'application.yml': replaceAll(page.file('application.yml'), { 'https://id.example.org': base, [HUB]: `http://localhost:${port}` }),
  });
  t.after(remove);
  const spring = await startProduct('spring-as', 'java', [
    '-jar', jar, `--spring.config.location=file:${path.join(folder, 'application.yml')}`, `--server.port=${springPort}`, '--server.address=127.0.0.1',
    '--spring.security.user.name=jane', '--spring.security.user.password=the-password',
  ], { ready: `${base}/.well-known/openid-configuration`, seconds: 180, env: { ...process.env, CLIENT_SECRET: secret } });
  t.after(spring.stop);
  const hub = await startHubForIdp('hub-recipe-spring-as', {
    ports: [port, privatePort], files: { 'spring.secret': secret },
    connectors: { spring: allowLoopback(replaceAll(page.file('connectors/spring.toml'), { 'https://id.example.org': base })) },
  });
  t.after(hub.stop);
  const authenticate = (browser, login, stopAt) => browser.submit(login, { values: { username: 'jane', password: 'the-password' }, stopAt });
  const browser = new Browser();
  const { claims, person, idToken } = await hub.signIn('spring', authenticate, { browser });
  assert.deepEqual([person.preferred_username, person.email], ['jane', 'jane@example.org']);
  assert.deepEqual(claims.amr.toSorted(), ['hub', 'pwd']);
  // The trait that the page names: it comes back at once, without having asked. Seconds after the login that is still within the clock tolerance.
  const again = await hub.signIn('spring', authenticate, { browser, more: { prompt: 'login' } });
  assert.deepEqual([again.asked, again.claims.sub], [false, claims.sub]);
  const out = await browser.open(hub.signOutUrl(idToken), { stopAt: hub.postLogoutUri });
  assert.ok(out.url.startsWith(hub.postLogoutUri), `${out.status} ${out.url}\n${out.html}`);
});
