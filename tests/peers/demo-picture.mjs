// Draws docs/pictures/demo.webp for README.md: the choice page of the demo beside what the application received. Usage, after
// `cargo build`: node demo-picture.mjs
import { chromium } from 'playwright-core';
import { startDemo } from './harness.mjs';
import { WINDOW, drawSideBySide, takeScreenshot } from './pictures.mjs';

const demo = await startDemo('demo-picture');
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu'] });
try {
  const context = await browser.newContext({ locale: 'en-GB', viewport: WINDOW });
  const page = await context.newPage();
  const account = (name) => page.locator(`form[action$="/provider"] button[value=${name}]`);

  await page.goto(demo.url);
  await page.locator('form[action="/login"]:has(input[value=eidas1]):not(:has(input[name=consent])) button').first().click();
  await account('amandier').waitFor();
  // Two probes find the identity provider that does not run; until then the page offers it.
  while (await account('donjon').count() > 0) await page.reload();
  const choice = await takeScreenshot(page);
  await account('amandier').click();
  await page.locator('form[action^="/sandbox/"] button').click();
  await page.locator('form[action$="/consent"] button[value=yes]').click();
  await page.waitForURL((url) => url.origin === new URL(demo.url).origin);
  const result = await takeScreenshot(page);
  await drawSideBySide(browser, 'demo.webp', [choice, result]);
} finally {
  await browser.close();
  await demo.stop();
}
