// `tests/chaos/run --manual`: signs in, kills a hub, signs in again, and stops the run, which must leave no process and no file.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Browser, answerConsent, chooseProvider, parseForms, root } from './harness.mjs';

let child, exited, folder, output = '';
async function untilPrinted(pattern) {
  for (let tries = 0; !pattern.test(output); tries += 1) {
    assert.ok(child.exitCode === null && tries < 1200, `no ${pattern} in\n${output}`);
    await sleep(100);
  }
  return output.match(pattern);
}
before(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'passerelle-manual-'));
  child = spawn(process.execPath, [path.join(root, 'tests/chaos/manual.mjs')], { env: { ...process.env, TMPDIR: folder } });
  exited = new Promise((resolve) => { child.once('exit', (code, signal) => resolve(signal ?? code)); });
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => { output += text; });
});
after(() => {
  child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

/** A browser that reloads a page while a hub or its connection fails. */
class RetryingBrowser extends Browser {
  async step(url, request) {
    for (let tries = 0; ; tries += 1) {
      const page = await super.step(url, request).catch(() => ({ status: 0 }));
      if (![0, 502, 503, 504].includes(page.status) || tries > 100) return page;
      await sleep(100);
    }
  }
}
async function signIn(serviceUrl, connector) {
  const browser = new RetryingBrowser();
  const start = await browser.open(serviceUrl);
  assert.match(start.html, /href="\/sign-in"/);
  const person = await chooseProvider(browser, await browser.open(`${serviceUrl}sign-in`), connector);
  const values = parseForms(person.html, person.url)[0].fields.some(([name]) => name === 'login') ? { login: 'angela', password: 'any' } : { person: 'angela' };
  const page = await answerConsent(browser, await browser.submit(person, { values }), 'yes');
  assert.equal(page.status, 200, page.html);
  assert.match(page.html, /<h1>Signed in<\/h1>/);
  assert.match(page.html, /DUBOIS/);
  assert.match(page.html, /POST \/api\/v2\/token 200<\/td><td>hub-[123]</);
  return page.html;
}

test('logins continue after a kill of a hub, and Ctrl-C leaves no process and no file', async () => {
  const [, serviceUrl] = await untilPrinted(/Sign in: {2}(\S+)/);
  await untilPrinted(/Ctrl-C/);
  const html = await signIn(serviceUrl, 'sandbox');
  for (const hub of ['hub-1', 'hub-2', 'hub-3']) assert.ok(html.includes(hub), `${hub} answered no request:\n${html}`);
  const pids = [...output.matchAll(/kill -(?:9|STOP) (\d+)/g)].map(([, pid]) => Number(pid));
  assert.equal(pids.length, 9, output);

  process.kill(pids[0], 'SIGKILL');
  await untilPrinted(/hub-1 ended \(SIGKILL\)/);
  assert.ok(!(await signIn(serviceUrl, 'real')).includes('hub-1<'), 'hub-1 does not run');
  const [, newPid] = await untilPrinted(/hub-1 runs again: kill -9 (\d+)/);

  child.kill('SIGINT');
  assert.equal(await exited, 0, output);
  for (const pid of [...pids, Number(newPid)]) assert.throws(() => process.kill(pid, 0), { code: 'ESRCH' }, `${pid} still runs`);
  assert.deepEqual(readdirSync(folder), []);
});
