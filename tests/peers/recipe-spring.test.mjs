// docs/recipes/sp-spring.md, in the application of recipes/spring-sp/.
import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { Browser, freePorts, random } from './harness.mjs';
import { APP, HUB, JANE, createFolder, readRecipe, replaceAll, springApplication, startHubForSp, startProduct, signInThroughHub } from './recipes.mjs';

const { skip, build } = springApplication('spring-sp');

test('Spring Security signs in with the files of its recipe', { skip, timeout: 900_000 }, async (t) => {
  const page = readRecipe('sp-spring');
  const jar = await build();
  const [port] = await freePorts(1);
  const app = `http://localhost:${port}`;
  const secret = random(32);
  const hub = await startHubForSp('hub-recipe-spring', {
    files: { 'service-providers/spring-app.toml': replaceAll(page.file('config/service-providers/spring-app.toml'), { [APP]: app }), 'spring-app.secret': secret },
  });
  t.after(hub.stop);
  const { folder, remove } = createFolder({ 'application.yml': replaceAll(page.file('application.yml'), { [HUB]: hub.base, [APP]: app }) });
  t.after(remove);
  const spring = await startProduct('spring', 'java', ['-jar', jar, `--spring.config.location=file:${path.join(folder, 'application.yml')}`, `--server.port=${port}`, '--server.address=127.0.0.1'], {
    ready: app, seconds: 180, env: { ...process.env, CLIENT_SECRET: secret },
  });
  t.after(spring.stop);
  const browser = new Browser();
  const back = await signInThroughHub(browser, await browser.open(app));
  assert.ok(back.url.startsWith(`${app}/?`), `${back.url}\n${back.html}\n${spring.output()}`);
  const home = await browser.open(`${app}/`, { headers: { accept: 'application/json' } });
  assert.equal(home.status, 200, `${home.html}\n${spring.output()}`);
  const person = JSON.parse(home.html);
  for (const [name, value] of Object.entries(JANE)) assert.equal(person[name], value);
});
