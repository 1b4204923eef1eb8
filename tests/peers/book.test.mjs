// The book of docs/, built by mdBook and read in Chromium, wide in the light scheme and on a phone in the dark one: no page scrolls
// sideways, every picture is there and visible on the background of the scheme, and no table has more than 40 rows.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { chromium } from 'playwright-core';
import { root, startServer } from './harness.mjs';

const LOOKS = {
  'wide, light': { viewport: { width: 1280, height: 900 }, colorScheme: 'light' },
  'phone, dark': { viewport: { width: 360, height: 740 }, colorScheme: 'dark' },
};
const MAX_ROWS = 40;
const TYPES = { '.html': 'text/html', '.css': 'text/css', '.js': 'text/javascript', '.svg': 'image/svg+xml', '.png': 'image/png', '.webp': 'image/webp' };

const mdbook = [path.join(process.env.CARGO_TARGET_DIR ?? path.join(root, 'target'), 'tools/bin/mdbook'), ...(process.env.PATH ?? '').split(path.delimiter).map((folder) => path.join(folder, 'mdbook'))]
  .find((file) => existsSync(file));
const skip = !mdbook && 'mdbook is not there: tests/install browser installs it.';

let book, site, browser;
before(async () => {
  if (skip) return;
  book = mkdtempSync(path.join(tmpdir(), 'passerelle-book-'));
  execFileSync(mdbook, ['build', '--dest-dir', book], { cwd: root, stdio: 'pipe' });
  site = await startServer((request, response) => {
    const file = path.join(book, path.normalize(decodeURIComponent(new URL(request.url, 'http://book').pathname)));
    if (!existsSync(file)) return response.writeHead(404).end();
    return response.writeHead(200, { 'content-type': TYPES[path.extname(file)] ?? 'application/octet-stream' }).end(readFileSync(file));
  });
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu'] });
});
after(async () => {
  await browser?.close();
  await site?.close();
  if (book) rmSync(book, { recursive: true, force: true });
});

/** Runs in the page: what is wrong with its width, its pictures and its tables. */
async function findFaults(maxRows) {
  const faults = [];
  // The style of the book hides what is outside the page: look for it, except in what scrolls by itself (tables, code).
  const { clientWidth } = document.documentElement;
  const scrolls = (element) => element && (['auto', 'scroll'].includes(getComputedStyle(element).overflowX) || scrolls(element.parentElement.closest('main *')));
  for (const element of document.querySelectorAll('main *')) {
    const { right, width } = element.getBoundingClientRect();
    if (width > 0 && right > clientWidth + 1 && !scrolls(element)) faults.push(`wider than the page: ${element.outerHTML.slice(0, 100)}`);
  }
  for (const image of document.querySelectorAll('main img')) {
    image.loading = 'eager';
    await image.decode().catch(() => {});
    if (image.naturalWidth === 0) {
      faults.push(`no picture ${image.getAttribute('src')}`);
    } else if (!image.alt) {
      faults.push(`no text for the picture ${image.getAttribute('src')}`);
    } else {
      // A transparent picture would have the background of the scheme behind its lines.
      const canvas = new OffscreenCanvas(64, 64).getContext('2d');
      canvas.drawImage(image, 0, 0, 64, 64);
      const { data } = canvas.getImageData(8, 8, 48, 48);
      if (data.some((byte, at) => at % 4 === 3 && byte < 255)) faults.push(`transparent picture ${image.getAttribute('src')}`);
    }
  }
  for (const table of document.querySelectorAll('main table')) {
    const rows = table.querySelectorAll('tbody tr').length;
    if (rows > maxRows) faults.push(`a table of ${rows} rows: ${table.innerText.slice(0, 60)}`);
  }
  return faults;
}

for (const [look, options] of Object.entries(LOOKS)) {
  test(`every page of the book is readable: ${look}`, { skip, timeout: 600_000 }, async () => {
    const context = await browser.newContext(options);
    const page = await context.newPage();
    const pages = readdirSync(book, { recursive: true }).filter((file) => file.endsWith('.html') && !['404.html', 'print.html', 'toc.html'].includes(file)).sort();
    assert.ok(pages.length > 100, String(pages.length));
    const faults = [];
    for (const file of pages) {
      await page.goto(`http://127.0.0.1:${site.port}/${file}`, { waitUntil: 'load' });
      const found = await page.evaluate(findFaults, MAX_ROWS);
      faults.push(...found.map((fault) => `${file}: ${fault}`));
    }
    const dark = await page.evaluate(() => document.documentElement.classList.contains('navy'));
    assert.equal(dark, options.colorScheme === 'dark');
    await context.close();
    assert.deepEqual(faults, []);
  });
}

test('the search of the book finds a page by its words', { skip }, async () => {
  const page = await browser.newPage();
  await page.goto(`http://127.0.0.1:${site.port}/index.html?search=checkpoint_copy`);
  const first = page.locator('#mdbook-searchresults a, #searchresults a').first();
  await first.waitFor();
  assert.match(await first.innerText(), /audit|configuration/i);
  await page.close();
});
