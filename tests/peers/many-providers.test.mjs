// The admin console of a hub with 300 identity providers and 5,000 service providers: the first screen says what is wrong, and every
// list is searched and paged without script, wide and on a phone.
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { chromium } from 'playwright-core';
import { artifacts, freePorts, oidcConnector, startHub, startServer, waitUntil } from './harness.mjs';

const axe = readFileSync(new URL(import.meta.resolve('axe-core/axe.min.js')), 'utf8');
const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];
const SIZES = { wide: { width: 1280, height: 900 }, phone: { width: 390, height: 844 } };
const DOWN = ['provider-137', 'provider-138', 'provider-299'];
const SERVICE_PROVIDERS = 5000;
const number = (index) => String(index).padStart(3, '0');
const persona = (index) => `name = { fr = "Fournisseur ${index}", en = "Provider ${index}" }
levels = { lowest = "eidas1", highest = "eidas1" }
[kind.persona]
`;

/** An identity provider whose documents can be fetched, so that the hub's own network is not at fault for the others. */
async function startWitness() {
  const key = { ...generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' }), kid: 'one', alg: 'ES256', use: 'sig' };
  const server = await startServer((request, response) => {
    const issuer = `http://localhost:${server.port}`;
    const documents = {
      '/.well-known/openid-configuration': {
        issuer, authorization_endpoint: `${issuer}/authorize`, token_endpoint: `${issuer}/token`, userinfo_endpoint: `${issuer}/userinfo`, jwks_uri: `${issuer}/jwks`,
        response_types_supported: ['code'], subject_types_supported: ['public'], id_token_signing_alg_values_supported: ['ES256'],
      },
      '/jwks': { keys: [key] },
    };
    const found = documents[request.url];
    response.writeHead(found ? 200 : 404, { 'content-type': 'application/json' }).end(JSON.stringify(found ?? {}));
  });
  return server;
}

let hub, browser, token, witness;
before(async () => {
  witness = await startWitness();
  const [port, privatePort] = await freePorts(2);
  const connectors = Object.fromEntries(Array.from({ length: 300 }, (_, index) => {
    const id = `provider-${number(index)}`;
    if (index === 0) return [id, oidcConnector(`http://localhost:${witness.port}`)];
    return [id, DOWN.includes(id) ? oidcConnector('http://localhost:9') : persona(index)];
  }));
  const sps = Array.from({ length: SERVICE_PROVIDERS }, (_, index) => ({
    id: `service-${index}`, secret: 'x'.repeat(40), redirectUris: [`http://localhost:${port}/sp/${index}`],
    extra: index < 12 ? `[connectors]\nallow = ["provider-137"]` : '',
  }));
  // A program without optimization reads 5,000 files in half a minute.
  hub = await startHub('many-providers', { port, privatePort, readySeconds: 180, sps, connectors, settings: 'sandbox = true\n' });
  token = readFileSync(path.join(hub.folder, 'admin.token'), 'utf8');
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: FLAGS });
});
after(async () => {
  await browser?.close();
  await hub?.stop();
  await witness?.close();
});

/** Takes a picture of the first screen and one of the whole page, and fails on a serious accessibility violation. */
async function checkPage(page, name) {
  await page.screenshot({ path: path.join(artifacts, `many-providers-${name}-screen.png`) });
  await page.screenshot({ path: path.join(artifacts, `many-providers-${name}.png`), fullPage: true });
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] }));
  const serious = violations.filter((v) => ['serious', 'critical'].includes(v.impact)).map((v) => `${v.id}: ${v.nodes.map((n) => n.html).join(' | ')}`);
  assert.deepEqual(serious, [], name);
  const { sideways, height } = await page.evaluate(() => ({ sideways: document.documentElement.scrollWidth - document.documentElement.clientWidth, height: document.documentElement.scrollHeight }));
  assert.ok(sideways <= 0, `${name}: scrolls sideways by ${sideways} px`);
  return height;
}

const problems = async () => (await (await fetch(`${hub.privateBase}/readyz`)).json()).problems ?? [];

for (const [size, viewport] of Object.entries(SIZES)) {
  test(`the first screen says what is wrong, and lists are searched and paged without script: ${size}`, async () => {
    await waitUntil(async () => (await problems())[0]?.message.startsWith('3 of 300 identity providers are down'), 'the three are found', 180);
    const [problem] = await problems();
    assert.deepEqual(problem.identity_providers, DOWN);
    assert.match(problem.message, /12 service providers allow no other: service-0, /);
    const context = await browser.newContext({ viewport, javaScriptEnabled: true, bypassCSP: true });
    context.setDefaultTimeout(30_000);
    const page = await context.newPage();
    await page.goto(`${hub.privateBase}/admin/`);
    await page.getByLabel('Administration token').fill(token);
    await page.getByRole('button', { name: 'Sign in' }).click();
    const first = page.locator('.problems li').first();
    await first.getByText(problem.message).waitFor();
    for (const text of [problem.message, problem.fix.replaceAll('`', '')]) {
      const box = await first.getByText(text).boundingBox();
      assert.ok(box.y + box.height <= viewport.height, `"${text}" ends at ${box.y + box.height} px`);
    }
    const height = await checkPage(page, `overview-${size}`);
    assert.ok(height < 8 * viewport.height, `the overview is ${height} px high`);
    await first.getByRole('link', { name: 'provider-137' }).click();
    await page.getByRole('heading', { name: 'provider-137' }).waitFor();
    await page.getByText("can't be reached").first().waitFor();
    await checkPage(page, `identity-provider-${size}`);

    // Without script, under the page's own policy.
    const plain = await browser.newContext({ viewport, javaScriptEnabled: false, storageState: await context.storageState() });
    const list = await plain.newPage();
    await list.goto(`${hub.privateBase}/admin/identity-providers`);
    await list.getByText('300 found').waitFor();
    assert.deepEqual((await list.locator('tbody th a').allInnerTexts()).slice(0, 3), DOWN);
    await list.getByRole('link', { name: 'Next page' }).click();
    await list.getByText('Page 2 of 6').waitFor();
    await list.getByLabel('Id, name or state').fill('Provider 204');
    await list.getByRole('button', { name: 'Search' }).click();
    await list.getByText('1 found').waitFor();
    await list.goto(`${hub.privateBase}/admin/service-providers?q=service-4999`);
    await list.getByRole('link', { name: 'service-4999' }).click();
    await list.getByRole('heading', { name: 'Service service-4999' }).waitFor();
    await list.goto(`${hub.privateBase}/admin/service-providers?client_id=service-3`);
    await list.getByText('the identity provider is d').waitFor();
    await plain.close();
    for (const [name, address] of Object.entries({ 'service-providers': '/admin/service-providers?page=100', 'service-provider': '/admin/service-providers?client_id=service-3', 'identity-providers': '/admin/identity-providers?page=2', failures: '/admin/failures' })) {
      await page.goto(hub.privateBase + address);
      await page.getByRole('heading').first().waitFor();
      await checkPage(page, `${name}-${size}`);
    }
    await context.close();
  });
}
