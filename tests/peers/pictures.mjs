// Draws pictures of the documentation from screenshots. Playwright can't write WebP, a third of the size of PNG, so Chromium does.
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { root } from './harness.mjs';

export const WINDOW = { width: 620, height: 640 };
const QUALITY = 70;
/** The colour around the screenshots, by colour scheme. */
const BACKGROUND = { light: '#dde3ea', dark: '#2b3138' };

/** Takes a screenshot of a page in a colour scheme. Returns PNG in base64. */
export async function takeScreenshot(page, colorScheme = 'light') {
  await page.emulateMedia({ colorScheme });
  return (await page.screenshot()).toString('base64');
}

/** Writes docs/pictures/NAME: screenshots of the size WINDOW beside each other. */
export async function drawSideBySide(browser, name, screenshots, colorScheme = 'light') {
  const page = await browser.newPage({ viewport: { width: screenshots.length * (WINDOW.width + 20) + 20, height: WINDOW.height + 40 } });
  const images = screenshots.map((data) => `<img src="data:image/png;base64,${data}">`).join('');
  await page.setContent(`<style>body{margin:0;padding:20px;display:flex;gap:20px;background:${BACKGROUND[colorScheme]}}img{width:${WINDOW.width}px;border-radius:8px}</style>${images}`);
  await page.waitForFunction(() => [...document.images].every((image) => image.complete));
  const cdp = await page.context().newCDPSession(page);
  const { data } = await cdp.send('Page.captureScreenshot', { format: 'webp', quality: QUALITY });
  const file = path.join(root, 'docs/pictures', name);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, Buffer.from(data, 'base64'));
  await page.close();
}

/**
 * The pictures of a tutorial, docs/pictures/tutorial/NAME.webp and NAME-dark.webp, drawn if DRAW=1 is set. add(page) remembers how a page
 * looks, save() draws those pages beside each other.
 */
export function tutorialPicture(browser, name) {
  const taken = { light: [], dark: [] };
  const wanted = process.env.DRAW === '1';
  return {
    async add(page) {
      if (!wanted) return;
      for (const scheme of Object.keys(taken)) taken[scheme].push(await takeScreenshot(page, scheme));
      await page.emulateMedia({ colorScheme: 'light' });
    },
    async save() {
      if (!wanted) return;
      for (const [scheme, screenshots] of Object.entries(taken)) {
        await drawSideBySide(browser, `tutorial/${name}${scheme === 'dark' ? '-dark' : ''}.webp`, screenshots, scheme);
      }
    },
  };
}
