// Draws the gallery of docs/gallery.md: the pages of target/pages (written by `cargo test --package passerelle-web gallery`) in Chromium,
// wide, phone-sized, dark and right-to-left, each checked by axe-core. Usage: node gallery.mjs [all]; `all` draws and
// checks every page of every language into tests/artifacts/gallery instead.
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
const source = path.join(root, 'target/pages');
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
const LOOKS = {
  wide: { language: 'en', viewport: { width: 900, height: 500 } },
  phone: { language: 'fr', viewport: { width: 360, height: 640 } },
  dark: { language: 'de', viewport: { width: 900, height: 500 }, colorScheme: 'dark' },
  rtl: { language: 'ar', viewport: { width: 900, height: 500 } },
};
/** The pages of the documentation. */
const PAGES = [
  'landing', 'choice-logos', 'choice-categories', 'choice-last-used', 'choice-troubled', 'choice-stopped', 'choice-not-me', 'consent-information',
  'consent-question', 'sign-in-0', 'sign-in-2', 'error-wait', 'error-identity', 'error-blocked', 'error-answer', 'log-out',
  'logged-out', 'logged-out-back',
];
const LOGO = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 48 48"><rect width="48" height="48" rx="8" fill="#123f6b"/><path d="M12 36V20l12-9 12 9v16h-8V25h-8v11z" fill="#fff"/></svg>';

const server = createServer((request, response) => {
  const { pathname } = new URL(request.url, 'http://localhost');
  if (pathname.startsWith('/assets/')) return response.writeHead(200, { 'content-type': 'image/svg+xml' }).end(LOGO);
  try {
    const html = readFileSync(path.join(source, path.normalize(pathname)));
    response.writeHead(200, { 'content-type': 'text/html;charset=UTF-8' }).end(html);
  } catch {
    response.writeHead(404).end();
  }
});
await new Promise((ready) => server.listen(0, '127.0.0.1', ready));
const base = `http://127.0.0.1:${server.address().port}`;

const everything = process.argv[2] === 'all';
const out = path.join(root, everything ? 'tests/artifacts/gallery' : 'docs/pictures/pages');
rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu'] });
let violations = 0;

async function draw(page, look, language, name) {
  await page.goto(`${base}/${language}/${name}.html`, { waitUntil: 'load' });
  // Under the policy of the pages a script of another origin would not run; axe-core is evaluated.
  await page.evaluate(axe);
  const found = await page.evaluate((rules) => globalThis.axe.run(document, { runOnly: rules }), RULES);
  for (const { id, nodes } of found.violations) {
    violations += 1;
    console.error(`${look} ${language} ${name}: ${id}: ${nodes.map((node) => node.html).join(' | ').slice(0, 300)}`);
  }
  const sideways = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  if (sideways > 0) {
    violations += 1;
    console.error(`${look} ${language} ${name}: scrolls sideways by ${sideways} px`);
  }
}

/** Takes a screenshot as WebP, a third of the size of PNG. Playwright can't write WebP. */
async function takeScreenshot(page, file) {
  const cdp = await page.context().newCDPSession(page);
  const [width, height] = await page.evaluate(() => [document.documentElement.clientWidth, document.documentElement.scrollHeight]);
  const { data } = await cdp.send('Page.captureScreenshot', { format: 'webp', quality: 60, captureBeyondViewport: true, clip: { x: 0, y: 0, width, height, scale: 1 } });
  await cdp.detach();
  writeFileSync(file, Buffer.from(data, 'base64'));
}

for (const [look, { language, ...options }] of Object.entries(LOOKS)) {
  const context = await browser.newContext({ bypassCSP: true, ...options });
  const page = await context.newPage();
  // Every language only on the phone: text that is too long appears there first.
  const languages = everything && look === 'phone' ? readdirSync(source) : [language];
  for (const tongue of languages) {
    const names = everything ? readdirSync(path.join(source, tongue)).map((file) => file.replace('.html', '')) : PAGES;
    for (const name of names) {
      // Error pages differ in their text only: one look is enough for all of them.
      if (/^error-Y/.test(name) && !(look === 'phone' && tongue === language)) continue;
      // This page submits its form at once.
      if (name === 'form-post') continue;
      await draw(page, look, tongue, name);
      const kept = everything ? `${tongue}-${name}-${look}.webp` : `${name}-${look}.webp`;
      if (!everything || tongue === language) {
        await takeScreenshot(page, path.join(out, kept));
      }
    }
  }
  await context.close();
}
await browser.close();
server.close();
if (!everything) {
  const row = (name) => `| ${name} | ${Object.keys(LOOKS).map((look) => `[![${name}, ${look}](pictures/pages/${name}-${look}.webp)](pictures/pages/${name}-${look}.webp)`).join(' | ')} |`;
  const head = readFileSync(path.join(root, 'docs/gallery.md'), 'utf8').split('\n| page |')[0];
  writeFileSync(path.join(root, 'docs/gallery.md'), `${head}\n| page | wide, English | phone, French | dark, German | right-to-left, Arabic |\n|---|---|---|---|---|\n${PAGES.map(row).join('\n')}\n\nNext: [theme](theme.md), [languages](languages.md).\n`);
}
console.log(`${violations} violations`);
process.exit(violations ? 1 : 0);
