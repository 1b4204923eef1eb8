// docs/recipes/sp-oauth2-proxy.md
import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { Browser, freePorts, random, startServer } from './harness.mjs';
import { APP, HUB, JANE, findProgram, createFolder, readRecipe, replaceAll, startHubForSp, startProduct, signInThroughHub, skipWithout } from './recipes.mjs';

test('oauth2-proxy signs in with the files of its recipe', { skip: skipWithout('oauth2-proxy', 'Take a release of oauth2-proxy.') }, async (t) => {
  const page = readRecipe('sp-oauth2-proxy');
  const [port] = await freePorts(1);
  const app = `http://localhost:${port}`;
  const secret = random(32);
  const hub = await startHubForSp('hub-recipe-oauth2-proxy', {
    files: { 'service-providers/oauth2-proxy.toml': replaceAll(page.file('config/service-providers/oauth2-proxy.toml'), { [APP]: app }), 'oauth2-proxy.secret': secret },
  });
  t.after(() => hub.stop());
  const upstream = await startServer((request, response) => response.end(JSON.stringify(request.headers)));
  t.after(upstream.close);
  const { folder, remove } = createFolder({ 'client.secret': secret, 'cookie.secret': random(24) });
  t.after(remove);
  const config = createFolder({
    'oauth2-proxy.cfg': `${replaceAll(page.file('oauth2-proxy.cfg'), {
      [HUB]: hub.base, [APP]: app, '/etc/oauth2-proxy': folder, '127.0.0.1:4180': `127.0.0.1:${port}`, 'http://127.0.0.1:8080/': `http://127.0.0.1:${upstream.port}/`,
    })}cookie_secure = false\n`,
  });
  t.after(config.remove);
  const proxy = await startProduct('oauth2-proxy', findProgram('oauth2-proxy'), ['--config', path.join(config.folder, 'oauth2-proxy.cfg')], { ready: `${app}/ping` });
  t.after(proxy.stop);
  const browser = new Browser();
  const back = await signInThroughHub(browser, await browser.open(`${app}/oauth2/start?rd=%2Fhello`));
  assert.equal(back.status, 200, `${back.url}\n${back.html}\n${proxy.output()}`);
  const seen = JSON.parse(back.html);
  assert.deepEqual([seen['x-forwarded-email'], seen['x-forwarded-preferred-username']], [JANE.email, JANE.preferred_username]);
});
