// A SAML login in Chromium, with an identity provider on another site: the browser sends the login's SameSite=Lax cookies with no POST from there.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { chromium } from 'playwright-core';
import { freePorts, tomlString } from './harness.mjs';
import { allowLoopback, startHubForIdp } from './recipes.mjs';
import { PASSWORD, hubMetadata, startSamlIdp } from './saml-idp.mjs';

const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];
let browser, hub, idp;

before(async () => {
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: FLAGS });
  const [port, privatePort, idpPort] = await freePorts(3);
  idp = await startSamlIdp({ port: idpPort, host: '127.0.0.1', isEncrypted: true });
  const file = (extra) => allowLoopback(`name = { en = "University", fr = "Universit\u00e9" }
levels = { lowest = "eidas1", highest = "eidas1" }
acr = { eidas1 = [${tomlString(PASSWORD)}] }
[kind.saml]
entity_id = ${tomlString(idp.entityId)}
metadata_file = "idp.xml"
${extra}`);
  hub = await startHubForIdp('hub-saml-browser', {
    ports: [port, privatePort], files: { 'idp.xml': idp.metadata() }, connectors: { redirect: file(''), post: file('request_binding = "post"') },
  });
});
after(async () => {
  await browser?.close();
  await hub?.stop();
  await idp?.close();
});

for (const connector of ['redirect', 'post']) {
  test(`a person signs in and out in a browser, with the request by ${connector}`, async (t) => {
    idp.trust(await hubMetadata(hub, connector));
    const context = await browser.newContext({ locale: 'en-GB' });
    t.after(() => context.close());
    const page = await context.newPage();
    page.setDefaultTimeout(15_000);
    const problems = [];
    page.on('console', (message) => { if (message.type() === 'error') problems.push(message.text()); });
    const response = page.waitForResponse((one) => one.request().method() === 'POST' && one.url().endsWith('/acs'));
    await page.goto(hub.authorizationUrl({ idp_hint: connector }));
    await page.getByRole('heading', { name: 'Real SAML provider' }).waitFor();
    assert.equal(new URL(page.url()).hostname, '127.0.0.1');
    await page.getByRole('button', { name: 'Sign in' }).click();
    const posted = await response;
    assert.equal(posted.status(), 303);
    assert.doesNotMatch((await posted.request().allHeaders()).cookie ?? '', /passerelle/);
    await page.waitForURL((url) => url.href.startsWith(`${hub.base}/sp/callback`));
    assert.ok(new URL(page.url()).searchParams.has('code'), page.url());
    // The service's page is not there in this test.
    assert.deepEqual(problems.filter((problem) => !/404/.test(problem)), []);
    await page.goto(`${hub.issuer}/session/end`);
    await page.locator('form[action$="/session/end/confirm"] button').first().click();
    await page.waitForURL((url) => url.href.startsWith(hub.issuer));
    await page.getByRole('heading').first().waitFor();
    assert.match(idp.logouts.at(-1).request, /saml-jane/);
    assert.deepEqual(idp.faults, []);
  });
}
