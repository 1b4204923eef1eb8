// Draws docs/pictures/demo.webp for README.md: the choice page of the demo beside what the application received. Usage, after
// `cargo build`: node demo-picture.mjs
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { chromium } from 'playwright-core';
import { root, startDemo } from './harness.mjs';

const WINDOW = { width: 620, height: 640 };
const QUALITY = 70;

const demo = await startDemo('demo-picture');
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu'] });
try {
  const context = await browser.newContext({ locale: 'en-GB', viewport: WINDOW });
  const page = await context.newPage();
  const account = (name) => page.locator(`form[action$="/provider"] button[value=${name}]`);
  const screenshot = async () => (await page.screenshot()).toString('base64');

  await page.goto(demo.url);
  await page.locator('form[action="/login"]:has(input[value=eidas1]):not(:has(input[name=consent])) button').first().click();
  await account('amandier').waitFor();
  // Two probes find the identity provider that does not run; until then the page offers it.
  while (await account('donjon').count() > 0) await page.reload();
  const choice = await screenshot();
  await account('amandier').click();
  await page.locator('form[action^="/sandbox/"] button').click();
  await page.locator('form[action$="/consent"] button[value=yes]').click();
  await page.waitForURL((url) => url.origin === new URL(demo.url).origin);
  const result = await screenshot();

  const pair = await browser.newPage({ viewport: { width: 2 * WINDOW.width + 60, height: WINDOW.height + 40 } });
  const images = [choice, result].map((data) => `<img src="data:image/png;base64,${data}">`).join('');
  await pair.setContent(`<style>body{margin:0;padding:20px;display:flex;gap:20px;background:#dde3ea}img{width:${WINDOW.width}px;border-radius:8px}</style>${images}`);
  await pair.waitForFunction(() => [...document.images].every((image) => image.complete));
  // Playwright can't write WebP.
  const cdp = await pair.context().newCDPSession(pair);
  const { data } = await cdp.send('Page.captureScreenshot', { format: 'webp', quality: QUALITY });
  writeFileSync(path.join(root, 'docs/pictures/demo.webp'), Buffer.from(data, 'base64'));
} finally {
  await browser.close();
  await demo.stop();
}
