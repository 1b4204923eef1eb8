// Checks of pages in a browser: accessibility by axe-core, no horizontal scrolling, usable by keyboard.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { artifacts } from './harness.mjs';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Takes a screenshot of the page. Fails on a serious or critical violation. */
export async function checkPage(page, name) {
  await page.screenshot({ path: path.join(artifacts, `${name}.png`), fullPage: true });
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] }));
  const grave = violations.filter((v) => ['serious', 'critical'].includes(v.impact)).map((v) => `${v.id}: ${v.nodes.map((n) => n.html).join(' | ')}`);
  assert.deepEqual(grave, [], name);
  assert.equal(await page.locator('h1').count(), 1, `${name}: one h1`);
  const sideways = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  assert.ok(sideways <= 0, `${name}: scrolls sideways by ${sideways} px`);
}

/** Presses Tab until the target has the focus, then Enter. */
export async function activateByKeyboard(target) {
  const page = target.page();
  for (let presses = 0; presses < 60; presses += 1) {
    if (await target.evaluate((element) => element === document.activeElement)) {
      const outline = await target.evaluate((element) => { const s = getComputedStyle(element); return s.outlineStyle !== 'none' || s.boxShadow !== 'none'; });
      assert.ok(outline, 'the focus can be seen');
      await page.keyboard.press('Enter');
      return;
    }
    await page.keyboard.press('Tab');
  }
  assert.fail(`Tab never reaches ${target}`);
}
