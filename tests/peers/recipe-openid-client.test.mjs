// docs/recipes/sp-openid-client.md
import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { Browser, random } from './harness.mjs';
import { APP, HUB, JANE, createFolder, signOutThroughHub, readRecipe, replaceAll, startHubForSp, signInThroughHub } from './recipes.mjs';

test('openid-client signs in and out with the files of its recipe', async (t) => {
  const page = readRecipe('sp-openid-client');
  // No port of the tests' servers begins with it.
  const app = 'http://localhost:9';
  const secret = random(32);
  const hub = await startHubForSp('hub-recipe-openid-client', {
    files: {
      'service-providers/openid-client.toml': replaceAll(page.file('config/service-providers/openid-client.toml'), { [APP]: app }),
      'openid-client.secret': secret,
    },
  });
  t.after(() => hub.stop());
  const { folder, remove } = createFolder({
    'client.mjs': replaceAll(page.file('client.mjs'), {
      [HUB]: hub.base, [APP]: app, 'process.env.CLIENT_SECRET': `${JSON.stringify(secret)}, undefined, { execute: [oidc.allowInsecureRequests] }`,
    }),
  });
  t.after(remove);
  const client = await import(pathToFileURL(path.join(folder, 'client.mjs')));
  const browser = new Browser();
  const { url, kept } = await client.begin();
  const back = await signInThroughHub(browser, await browser.open(url), app);
  const { person, idToken } = await client.finish(back.url, kept);
  for (const [name, value] of Object.entries(JANE)) assert.equal(person[name], value);
  const out = await signOutThroughHub(browser, client.signOut(idToken), app);
  assert.ok(out.url.startsWith(`${app}/signed-out`), out.url);
});
