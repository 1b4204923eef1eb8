// Two people whose names differ in a vowel sign alone, with equal birth data, against the real program on the high platform's
// kind of identity: the identity provider's own.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { decodeJwt } from 'jose';
import * as oidc from 'openid-client';
import { IDP_CLIENT, IDP_SECRET, Browser, chooseProvider, freePorts, oidcConnector, program, random, startHub } from './harness.mjs';
import { startIdp } from './real-idp.mjs';

let hub, idp, port;
const sps = {};
before(async () => {
  const [hubPort, privatePort, idpPort] = await freePorts(3);
  port = hubPort;
  for (const id of ['fresh']) sps[id] = { id, secret: random(32), redirectUri: `http://localhost:${port}/sp/${id}/callback` };
  idp = await startIdp({
    port: idpPort, clientId: IDP_CLIENT, clientSecret: IDP_SECRET, userinfoAlg: 'ES256',
    redirectUris: [`http://localhost:${port}/api/v2/callback/real`],
  });
  hub = await startHub('hub-one-sub', {
    port, privatePort, register: '', settings: 'identity_source = "provider"',
    sps: Object.values(sps).map((sp) => ({
      ...sp, redirectUris: [sp.redirectUri], scopes: ['openid', 'profile'], extra: 'rules = "openid"\nconsent = "none"',
    })),
    connectors: { real: oidcConnector(idp.issuer, 'userinfo_signed_response_alg = "ES256"') },
  });
});
after(async () => { await hub?.stop(); await idp?.close(); });

/** Returns the `sub` of this person at this service provider. */
async function subject(sp, login) {
  const client = await oidc.discovery(
    new URL(`${hub.issuer}/.well-known/openid-configuration`), sp.id, undefined, oidc.ClientSecretPost(sp.secret),
    { execute: [oidc.allowInsecureRequests, oidc.enableNonRepudiationChecks] },
  );
  const browser = new Browser();
  const url = oidc.buildAuthorizationUrl(client, { redirect_uri: sp.redirectUri, scope: 'openid profile', state: random(16) });
  const choice = await browser.open(url.href, { stopAt: sp.redirectUri });
  const upstream = await chooseProvider(browser, choice, 'real');
  const back = await browser.submit(upstream, { values: { login }, stopAt: sp.redirectUri });
  const form = { grant_type: 'authorization_code', client_id: sp.id, client_secret: sp.secret, redirect_uri: sp.redirectUri, code: new URL(back.url).searchParams.get('code') };
  const answer = await fetch(`${hub.issuer}/token`, { method: 'POST', body: new URLSearchParams(form) });
  return decodeJwt((await answer.json()).id_token).sub;
}

test('two people whose names differ in a vowel sign get two subs', async () => {
  const [karan, kiran] = [await subject(sps.fresh, 'karan'), await subject(sps.fresh, 'kiran')];
  assert.notEqual(karan, kiran);
  assert.equal(await subject(sps.fresh, 'karan'), karan, 'and each keeps their own');
});

test('check refuses a connector that does not say that its identities are verified, and the hub serves it', async () => {
  const connector = path.join(hub.folder, 'connectors/real.toml');
  const original = readFileSync(connector, 'utf8');
  const run = (...more) => spawnSync(program, more, { encoding: 'utf8' });
  assert.equal(run('check', '--config', hub.folder).status, 0);
  writeFileSync(connector, original.replace('identity = "verified"\n', ''));
  for (const command of [['check', '--config', hub.folder], ['check', 'connector', connector, '--config', hub.folder]]) {
    const { status, stdout } = run(...command);
    assert.equal(status, 1, stdout);
    assert.match(stdout, /identity: is missing[\s\S]*identity = "verified"/);
  }
  await hub.restart('SIGTERM');
  assert.ok(await subject(sps.fresh, 'karan'));
  assert.match(hub.log(), /rejected by `passerelle check`/);
  assert.match(await (await fetch(`${hub.privateBase}/readyz`)).text(), /identity/);
});
