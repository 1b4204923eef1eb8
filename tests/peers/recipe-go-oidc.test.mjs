// docs/recipes/sp-go-oidc.md. recipes/go-oidc/ pins the modules that its program is built with.
import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { Browser, freePorts, random, root } from './harness.mjs';
import { APP, HUB, JANE, productCache, findProgram, goEnv, readRecipe, replaceAll, startHubForSp, startProduct, runSuccessfully, signInThroughHub, skipWithoutGo } from './recipes.mjs';

test('go-oidc signs in with the files of its recipe', { skip: skipWithoutGo() }, async (t) => {
  const page = readRecipe('sp-go-oidc');
  const [port] = await freePorts(1);
  const app = `http://localhost:${port}`;
  const secret = random(32);
  const hub = await startHubForSp('hub-recipe-go-oidc', {
    files: { 'service-providers/go-oidc.toml': replaceAll(page.file('config/service-providers/go-oidc.toml'), { [APP]: app }), 'go-oidc.secret': secret },
  });
  t.after(() => hub.stop());
  const folder = path.join(productCache, 'go-oidc');
  mkdirSync(folder, { recursive: true });
  for (const name of ['go.mod', 'go.sum']) copyFileSync(path.join(root, 'tests/peers/recipes/go-oidc', name), path.join(folder, name));
  writeFileSync(path.join(folder, 'main.go'), replaceAll(page.file('main.go'), { [HUB]: hub.base, [APP]: app, '127.0.0.1:3000': `127.0.0.1:${port}` }));
  await runSuccessfully(findProgram('go'), ['build', '-buildvcs=false', '-o', 'recipe', '.'], { cwd: folder, env: goEnv });
  const server = await startProduct('go-oidc', path.join(folder, 'recipe'), [], {
    ready: `http://127.0.0.1:${port}/`, env: { ...process.env, CLIENT_SECRET: secret },
  });
  t.after(server.stop);
  const browser = new Browser();
  const back = await signInThroughHub(browser, await browser.open(`${app}/login`));
  assert.equal(back.status, 200, back.html);
  const person = JSON.parse(back.html);
  for (const [name, value] of Object.entries(JANE)) assert.equal(person[name], value);
});
