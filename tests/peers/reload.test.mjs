// An identity provider is a file: dropped in, changed, broken and removed while the hub runs.
import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { discover, request, startFederation } from './federation.mjs';
import { Browser, oidcConnector } from './harness.mjs';

let fed, client;
before(async () => { fed = await startFederation('hub-reload'); client = await discover(fed.hub, fed.sp); });
after(async () => fed?.stop());

/** Names on a fresh choice page. */
async function offered() {
  const page = await new Browser().open((await request(client, fed.sp)).url);
  return [...page.html.matchAll(/name="provider" value="([^"]+)"/g)].map(([, id]) => id);
}
async function until(condition, what) {
  for (let tries = 0; tries < 100; tries++) {
    if (await condition()) return;
    await new Promise((done) => { setTimeout(done, 200); });
  }
  assert.fail(`${what} did not happen`);
}

test('a connector file dropped in adds an identity provider, and removed takes it away, without a restart', async () => {
  const file = path.join(fed.hub.folder, 'connectors/dropped.toml');
  assert.deepEqual(await offered(), ['real']);
  writeFileSync(file, oidcConnector(fed.idp.issuer));
  await until(async () => (await offered()).includes('dropped'), 'the new connector');
  // A bad version keeps the last good one, and harms nobody else.
  writeFileSync(file, 'name = 3\n[kind.nonsense]\n');
  await until(async () => fed.hub.log().includes('its last good version stays'), 'a word in the log');
  assert.deepEqual((await offered()).sort(), ['dropped', 'real']);
  rmSync(file);
  await until(async () => !(await offered()).includes('dropped'), 'its end');
  assert.deepEqual(await offered(), ['real']);
});
