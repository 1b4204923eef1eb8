// `passerelle init`: its folder starts a hub, and a real service provider (npm openid-client) signs a person in with what it printed.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { importJWK } from 'jose';
import * as oidc from 'openid-client';
import { discoverHub, buildAuthorizationRequest } from './federation.mjs';
import { Browser, answerConsent, chooseProvider, freePorts, startProgram, program } from './harness.mjs';

const LEVELS = { standard: 'eidas1', high: 'eidas2' };

for (const [platform, level] of Object.entries(LEVELS)) {
  test(`a new folder of the ${platform} platform serves a login from the printed address to the person's claims, and a logout`, async (t) => {
    const above = mkdtempSync(path.join(tmpdir(), 'passerelle-init-'));
    t.after(() => rmSync(above, { recursive: true, force: true }));
    const folder = path.join(above, 'hub');
    const [port, privatePort, application] = await freePorts(3);
    const sp = { id: 'my-shop', redirectUri: `http://localhost:${application}/cb` };
    const printed = execFileSync(program, ['init', folder, '--platform', platform, '--port', port, '--private-port', privatePort,
      '--client-id', sp.id, '--redirect-uri', sp.redirectUri], { encoding: 'utf8' });
    const hub = startProgram(`init-${platform}`, ['serve', '--config', folder]);
    t.after(hub.stop);
    await hub.until(() => fetch(`http://127.0.0.1:${privatePort}/readyz`).then((r) => r.ok, () => false), 'readiness');

    const signIn = async (browser, address) => {
      const page = await chooseProvider(browser, await browser.open(address), 'sandbox', sp.redirectUri);
      assert.match(page.html, /Angela Claire Louise DUBOIS/);
      const consent = await browser.submit(page, { values: { person: 'angela', level }, stopAt: sp.redirectUri });
      const back = consent.stopped ? consent : await answerConsent(browser, consent, 'yes', sp.redirectUri);
      assert.ok(back.stopped, back.html);
      return new URL(back.url);
    };
    const tried = await signIn(new Browser(), printed.match(/^ +(http:\S+\/authorize\?\S+)$/m)[1]);
    assert.ok(tried.searchParams.get('code'), tried.href);

    const issuer = printed.match(/issuer +(\S+)/)[1];
    sp.secret = readFileSync(printed.match(/its secret +(\S+)/)[1], 'utf8');
    const client = await discoverHub({ issuer }, sp);
    if (platform === 'high') {
      const jwk = JSON.parse(readFileSync(printed.match(/its key +(\S+)/)[1], 'utf8'));
      oidc.enableDecryptingResponses(client, ['A256GCM'], { key: await importJWK(jwk), alg: jwk.alg, kid: jwk.kid });
    }
    const browser = new Browser();
    const authorization = await buildAuthorizationRequest(client, sp, { acr_values: level });
    const tokens = await oidc.authorizationCodeGrant(client, await signIn(browser, authorization.url), {
      pkceCodeVerifier: authorization.verifier, expectedState: authorization.state, expectedNonce: authorization.nonce, idTokenExpected: true,
    });
    assert.equal(tokens.claims().acr, level);
    const person = await oidc.fetchUserInfo(client, tokens.access_token, tokens.claims().sub);
    assert.equal(person.family_name, 'DUBOIS');

    const after = `http://localhost:${application}/signed-out`;
    const state = oidc.randomState().padEnd(32, '0');
    const end = oidc.buildEndSessionUrl(client, { id_token_hint: tokens.id_token, post_logout_redirect_uri: after, state });
    const ended = await browser.open(end.href, { stopAt: after });
    assert.equal(ended.url, `${after}?state=${state}`, ended.html);
  });
}
