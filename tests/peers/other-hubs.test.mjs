// Three hubs behind one address, with a shared Redis or separate stores: an operator searches for a login at any of them, and
// performs routine tasks within time limits.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { Browser, artifacts, chooseProvider, freePorts, oidcConnector, program, random, readText, startHub } from './harness.mjs';

const run = promisify(execFile);
const COUNT = 3;
const PEER_TOKEN = random(32);
const [ALICE, VERA] = [random(32), random(32)];
const persona = `name = { fr = "Compte d’essai", en = "Trial account" }
levels = { lowest = "eidas1", highest = "eidas1" }
[kind.persona]
`;
const SHARED = { 'subject.key': random(48), 'store.key': random(32), 'peer.token': PEER_TOKEN, 'alice.token': ALICE, 'vera.token': VERA };

/** A proxy in front of the hubs that forwards each request to the hub that `choose()` returns. */
async function front(port, privateOf) {
  const server = createServer((incoming, outgoing) => {
    const target = privateOf();
    const sent = httpRequest({ host: '127.0.0.1', port: target, path: incoming.url, method: incoming.method, headers: incoming.headers }, (answer) => {
      outgoing.writeHead(answer.statusCode, answer.rawHeaders);
      answer.on('error', () => outgoing.destroy());
      answer.pipe(outgoing);
    });
    sent.on('error', () => { if (outgoing.headersSent) outgoing.destroy(); else outgoing.writeHead(502).end(); });
    incoming.on('error', () => sent.destroy());
    incoming.pipe(sent);
  });
  await new Promise((resolve) => server.listen(port, '127.0.0.1', resolve));
  return () => new Promise((done) => { server.close(done); server.closeAllConnections(); });
}

const SCENES = { 'one Redis': true, 'embedded stores': false };
const times = {};

for (const [scene, hasRedis] of Object.entries(SCENES)) {
  describe(`three hubs with ${scene}`, () => {
    const hubs = [];
    let store, folder, close, base, redirectUri, publicPorts, turn = 0, fixed;

    before(async () => {
      const [port, storePort, ...ports] = await freePorts(2 + 2 * COUNT);
      publicPorts = ports.slice(0, COUNT);
      const privatePorts = ports.slice(COUNT);
      base = `http://localhost:${port}`;
      redirectUri = `${base}/sp/callback`;
      folder = mkdtempSync(path.join(tmpdir(), 'passerelle-hubs-'));
      if (hasRedis) {
        store = spawn('redis-server', ['--port', storePort, '--bind', '127.0.0.1', '--save', '', '--dir', folder, '--maxmemory-policy', 'noeviction'].map(String), { stdio: 'ignore' });
      }
      const peers = privatePorts.map((one, index) => `hub-${index} = "http://127.0.0.1:${one}"`).join('\n');
      for (let index = 0; index < COUNT; index += 1) {
        const redis = hasRedis ? `[store.redis]\nnodes = ["127.0.0.1:${storePort}"]\nencryption_keys = [{ file = "store.key" }]\n` : '';
        // eslint-disable-next-line no-await-in-loop -- the first creates the keys
        hubs.push(await startHub(`other-hubs-${hasRedis ? 'redis' : 'embedded'}-${index}`, {
          port: publicPorts[index], privatePort: privatePorts[index], base,
          sps: [{ id: 'alpha', secret: 'x'.repeat(40), redirectUris: [redirectUri] }],
          connectors: { nowhere: oidcConnector('http://localhost:9'), trial: persona },
          settings: `sandbox = true\naudit = { sink = "file", path = "audit/audit.jsonl", node = "hub-${index}" }\nlifetimes = { signing_key_lead_seconds = 0 }\n`,
          files: SHARED,
          replace: ['admin_token = { file = "admin.token" }', `admin_token = { file = "admin.token" }
peer_token = { file = "peer.token" }
operators = [{ name = "alice", role = "operator", token = { file = "alice.token" } }, { name = "vera", role = "viewer", token = { file = "vera.token" } }]
[private.peers]
${peers}
${redis}`],
        }));
      }
      // All have the keys of the first.
      for (const hub of hubs.slice(1)) {
        rmSync(path.join(hub.folder, 'keys'), { recursive: true });
        cpSync(path.join(hubs[0].folder, 'keys'), path.join(hub.folder, 'keys'), { recursive: true });
      }
      await Promise.all([1, 2].map((at) => ask(at, '/admin/keys/reload', { method: 'POST' })));
      // With one store any hub serves any request; with embedded ones a login stays where it began.
      close = await front(port, () => publicPorts[hasRedis ? (turn += 1) % COUNT : fixed ?? 0]);
    });
    after(async () => {
      await close?.();
      await Promise.all(hubs.map((hub) => hub.stop()));
      store?.kill('SIGTERM');
      if (folder) rmSync(folder, { recursive: true, force: true });
    });

    const authorize = () => `${base}/api/v2/authorize?${new URLSearchParams({
      client_id: 'alpha', redirect_uri: redirectUri, response_type: 'code', scope: 'openid profile', acr_values: 'eidas1',
      prompt: 'login consent', state: random(32), nonce: random(32),
    })}`;
    const command = (at, ...more) => run(program, [...more, '--config', hubs[at].folder], { env: { ...process.env, NO_COLOR: '1' } });
    const token = (at) => readFileSync(path.join(hubs[at].folder, 'admin.token'), 'utf8');
    const ask = async (at, where, { method = 'GET', body, bearer = token(at) } = {}) => {
      const response = await fetch(`${hubs[at].privateBase}${where}`, { method, body, headers: { authorization: `Bearer ${bearer}` } });
      return { status: response.status, body: await response.json() };
    };
    // The log is written in batches.
    const until = async (condition) => {
      const deadline = performance.now() + 5000;
      for (;;) {
        const value = condition();
        if (value || performance.now() > deadline) return value;
        // eslint-disable-next-line no-await-in-loop -- it waits
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    };
    const auditOf = (at) => readFileSync(path.join(hubs[at].folder, 'audit/audit.jsonl'), 'utf8').split('\n').filter(Boolean).map((line) => JSON.parse(line));
    const timed = async (what, work) => {
      const began = performance.now();
      const result = await work();
      times[`${scene}: ${what}`] = `${((performance.now() - began) / 1000).toFixed(2)} s`;
      return result;
    };

    async function failedLogin() {
      const browser = new Browser();
      const choice = await browser.open(authorize());
      const page = await chooseProvider(browser, choice, 'trial');
      const failed = await browser.submit(page, { values: { failure: 'error' } });
      const id = failed.html.match(/data-reference="([0-9A-HJKMNP-TV-Z]{12})"/)?.[1];
      assert.ok(id, readText(failed.html));
      return id;
    }

    test('a login is found from every hub, by the page and by the command', async () => {
      fixed = 1;
      const id = await failedLogin();
      for (let at = 0; at < COUNT; at += 1) {
        const { status, body } = await ask(at, `/admin/logins/${id}`);
        assert.equal(status, 200, JSON.stringify(body));
        const names = body.events.map((event) => event.event);
        assert.deepEqual(names.slice(0, 3), ['authorization_received', 'choice_shown', 'idp_chosen'], `from hub-${at}`);
        assert.ok(body.refusal && body.nodes.length === COUNT, JSON.stringify(body.nodes));
        const nodes = new Set(body.events.map((event) => event.node ?? `hub-${at}`));
        if (hasRedis) assert.ok(nodes.size > 1, 'several hubs served it');
        else assert.deepEqual([...nodes], ['hub-1']);
      }
      const shown = await timed('find a login by its reference', () => command(2, 'login', 'show', id.toLowerCase()));
      assert.match(shown.stdout, new RegExp(`Login ${id}: (failed|refused|choosing)`));
      assert.match(shown.stdout, /asked:\n {2}hub-2/);
      const json = JSON.parse((await command(0, 'login', 'show', id, '--json')).stdout);
      assert.equal(json.support_id, id);
      await assert.rejects(command(0, 'login', 'show', 'ZZZZZZZZZZZZ'), /No login with this support id/);
    });

    test('after a restart the audit files are searched, and a hub that does not answer is named', async () => {
      fixed = 1;
      const id = await failedLogin();
      const before = (await ask(0, `/admin/logins/${id}`)).body;
      await hubs[1].restart('SIGTERM');
      const found = (await ask(0, `/admin/logins/${id}`)).body;
      assert.deepEqual(found.events.map((event) => event.event), before.events.map((event) => event.event));
      assert.equal(found.nodes.find((node) => node.node === 'hub-1').source, 'audit_log');
      // While it is down, the others say so.
      await hubs[1].restart('SIGTERM', async () => {
        const { body } = await ask(0, `/admin/logins/${id}`);
        const answers = body.nodes ?? body.details;
        assert.match(JSON.stringify(answers), /hub-1.*(no answer|error)/);
      });
    });

    test('a person’s logins are found on all hubs by sub, and each hub records who asked and why', async () => {
      fixed = 2;
      const browser = new Browser();
      const choice = await browser.open(authorize());
      const page = await chooseProvider(browser, choice, 'trial');
      let next = await browser.submit(page, { values: { person: 'angela' }, stopAt: redirectUri });
      for (let hops = 0; !next.stopped && hops < 3; hops += 1) {
        next = await browser.submit(next, { pick: (form) => /\/consent$/.test(form.action), values: { answer: 'yes' }, stopAt: redirectUri });
      }
      assert.ok(next.stopped, next.html?.slice(0, 3000));
      const { sub, support_id: id } = await until(() => hubs.flatMap((_, at) => auditOf(at)).find((line) => line.event === 'code_issued'));
      const body = (reason) => JSON.stringify({ sub, reason });
      assert.equal((await ask(0, '/admin/logins/search', { method: 'POST', body: body('') })).status, 400);
      const found = await ask(0, '/admin/logins/search', { method: 'POST', body: body('ticket 4711'), bearer: VERA });
      assert.deepEqual(found.body.logins.map((login) => login.support_id), [id], JSON.stringify(found.body));
      for (let at = 0; at < COUNT; at += 1) {
        // eslint-disable-next-line no-await-in-loop -- one hub after the other
        const line = await until(() => auditOf(at).filter((one) => one.event === 'logins_searched').at(-1));
        assert.deepEqual([line.reason, line.operator], ['ticket 4711', at === 0 ? 'vera' : 'vera (at the hub 127.0.0.1)'], `hub-${at}`);
      }
      const listed = await timed('a person’s logins by sub', () => command(1, 'login', 'list', '--sub', sub, '--reason', 'ticket 4712'));
      assert.match(listed.stdout, new RegExp(id));
    });

    test("an operator's tasks within their time limits: status, block, unblock, reload, rotate keys, drain", async () => {
      writeFileSync(path.join(hubs[0].folder, 'alice-too.token'), ALICE, { mode: 0o600 });
      const alice = ['--token-file', path.join(hubs[0].folder, 'alice-too.token')];
      const status = await timed('see what is unhealthy', () => command(0, 'status', '--json'));
      const { connectors, checks } = JSON.parse(status.stdout);
      assert.equal(connectors[0].id, 'nowhere', 'what needs attention is first');
      assert.match(connectors[0].health.unreachable.reason, /can't be reached/);
      assert.equal(checks.find((check) => check.name === 'connectors').state, 'degraded');
      await timed('block an identity provider', () => command(0, 'idp', 'block', 'trial', '--reason', 'keys leaked', '--for', '2h', ...alice));
      if (hasRedis) {
        const began = performance.now();
        for (;;) {
          const states = await Promise.all([1, 2].map(async (at) => (await ask(at, '/admin/connectors')).body.connectors.find((row) => row.id === 'trial').state));
          if (states.every((state) => state === 'blocked')) break;
          assert.ok(performance.now() - began < 5000, 'the block did not reach the others');
          await new Promise((resolve) => setTimeout(resolve, 50));
        }
        times[`${scene}: … until it is in force on all hubs`] = `${((performance.now() - began) / 1000).toFixed(2)} s`;
      }
      await timed('lift the block', () => command(0, 'idp', 'unblock', 'trial', ...alice));
      await timed('reload', () => command(0, 'node', 'reload', ...alice));
      await timed('drain', () => command(0, 'node', 'drain', ...alice));
      assert.equal((await fetch(`${hubs[0].privateBase}/readyz`)).status, 503);
      await timed('resume', () => command(0, 'node', 'resume', ...alice));
      assert.equal((await fetch(`${hubs[0].privateBase}/readyz`)).status, 200);
      await timed('rotate keys', () => command(0, 'keys', 'rotate'));
      const events = () => auditOf(0).filter((line) => line.operator === 'alice').map((line) => line.event);
      await until(() => events().includes('hub_resumed'));
      assert.deepEqual(events(), ['block_set', 'block_lifted', 'reload_requested', 'hub_drained', 'hub_resumed']);
    });

    test('a peer with a wrong token gets nothing, and none is believed that is no hub', async () => {
      for (const bearer of ['wrong', ALICE, VERA, token(0)]) {
        assert.ok([401, 429].includes((await ask(0, '/admin/peer/logins/ZZZZZZZZZZZZ', { bearer })).status));
      }
      assert.equal((await ask(0, '/admin/peer/logins/ZZZZZZZZZZZZ', { bearer: PEER_TOKEN })).status, 200);
      assert.ok([401, 429].includes((await ask(0, '/admin/status', { bearer: PEER_TOKEN })).status));
    });
  });
}

after(() => writeFileSync(path.join(artifacts, 'night-shift.json'), `${JSON.stringify(times, null, 2)}\n`));
