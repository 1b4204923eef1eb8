// Attacks by clients that hold connections: slow heads, unread bodies, unread responses, more sockets than the hub has
// descriptors, and bytes that are not HTTP. docs/limits.md, "Connections".
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

const DESCRIPTORS = 1024;
const LINE = '\r\n';
const JWKS = '/api/v2/jwks';

// The hub runs with as many descriptors as a service without LimitNOFILE= has.
const real = process.env.HUB_BIN ?? path.resolve(import.meta.dirname, '../../target/debug/passerelle');
const folder = mkdtempSync(path.join(tmpdir(), 'passerelle-descriptors-'));
process.env.HUB_BIN = path.join(folder, 'passerelle');
writeFileSync(process.env.HUB_BIN, `#!/bin/sh\nulimit -n ${DESCRIPTORS}\nexec "${real}" "$@"\n`, { mode: 0o755 });
const { freePorts, oidcConnector, startHub } = await import('./harness.mjs');

let hub, port;
const start = async (name) => {
  const [public_, privatePort] = await freePorts(2);
  port = public_;
  return startHub(name, {
    port, privatePort, limits: 'request_seconds = 3',
    sps: [{ id: 'alpha', secret: 'x'.repeat(40), redirectUris: [`http://localhost:${port}/sp/callback`] }],
    connectors: { nowhere: oidcConnector('http://localhost:9') },
  });
};
before(async () => { hub = await start('hub-connections'); });
after(async () => {
  await hub?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const head = (method, target, ...fields) => [`${method} ${target} HTTP/1.1`, `Host: localhost:${port}`, ...fields, '', ''].join(LINE);
const GET = () => head('GET', JWKS);

/** Opens a connection. `text()` returns what the hub has sent; `closed` resolves to it when the hub closes the connection. */
async function connect() {
  const socket = net.connect(port, '127.0.0.1');
  await once(socket, 'connect');
  let text = '';
  socket.on('data', (data) => { text += data; });
  socket.on('error', () => {});
  let isClosed = false;
  // `once` would reject if the hub resets the connection.
  const closed = new Promise((resolve) => { socket.on('close', () => { isClosed = true; resolve(text); }); });
  socket.on('end', () => socket.destroy());
  return { socket, closed, get isClosed() { return isClosed; }, text: () => text };
}
const within = async (seconds, condition, what) => {
  const deadline = performance.now() + seconds * 1000;
  for (;;) {
    const value = await condition();
    if (value) return value;
    assert.ok(performance.now() < deadline, `${what} did not happen within ${seconds} s`);
    await sleep(50);
  }
};
const metric = async (name) => {
  const text = await (await fetch(`${hub.privateBase}/metrics`)).text();
  const sum = text.split('\n').filter((line) => line.startsWith(name)).map((line) => Number(line.split(' ').at(-1)));
  return sum.reduce((all, value) => all + value, 0);
};
const answers = (text) => [...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map((found) => Number(found[1]));
/** Sends one byte a second until the hub closes the connection. */
async function drip(connection, bytes) {
  let sent = 0;
  for (const byte of bytes) {
    if (connection.isClosed) break;
    connection.socket.write(byte);
    sent += 1;
    await Promise.race([sleep(1000), connection.closed]);
  }
  return sent;
}

test('a request head at one byte a second has five seconds, the second one of a connection too', async () => {
  const [first, second] = await Promise.all([connect(), connect()]);
  second.socket.write(GET());
  await within(20, () => answers(second.text()).length === 1, 'the first answer');
  const sent = await Promise.all([drip(first, GET()), drip(second, GET())]);
  assert.deepEqual(answers(await first.closed), [408]);
  assert.deepEqual(answers(await second.closed), [200, 408]);
  for (const bytes of sent) assert.ok(bytes <= 20, `${bytes} bytes were taken`);
});

test('a connection that sends nothing is closed, and so is one that is kept without a request', async () => {
  const [silent, kept] = await Promise.all([connect(), connect()]);
  kept.socket.write(GET());
  await within(20, () => answers(kept.text()).length === 1, 'the answer');
  assert.deepEqual([answers(await silent.closed), answers(await kept.closed)], [[], [200]]);
});

test('a request body at one byte a second is answered 408', async () => {
  const slow = await connect();
  slow.socket.write(head('POST', '/api/v2/token', 'Content-Type: application/x-www-form-urlencoded', 'Content-Length: 600'));
  const sent = await drip(slow, 'a'.repeat(60));
  assert.deepEqual(answers(await slow.closed), [408]);
  assert.ok(sent <= 20, `${sent} bytes were taken`);
});

test('an unread chunked body is not drained without end', async (t) => {
  const endless = await connect();
  endless.socket.write(head('POST', JWKS, 'Transfer-Encoding: chunked'));
  await within(20, () => answers(endless.text()).length === 1, 'the answer');
  const chunk = `10000${LINE}${'x'.repeat(65_536)}${LINE}`;
  let written = 0;
  while (!endless.isClosed && written < 512 * chunk.length) {
    written += chunk.length;
    if (!endless.socket.write(chunk)) await Promise.race([once(endless.socket, 'drain').catch(() => {}), endless.closed]);
  }
  const text = await endless.closed;
  t.diagnostic(`${written} bytes were sent before the hub closed`);
  assert.ok(written < 16 * 1024 * 1024, `${written} bytes were taken`);
  assert.deepEqual(answers(text), [405]);
  assert.match(text, /connection: close/i);
});

test('pipelined requests, with and without bodies, are answered in their order', async () => {
  const form = ['Content-Type: application/x-www-form-urlencoded'];
  const token = (fields, body) => head('POST', '/api/v2/token', ...form, ...fields) + body;
  const chunked = token(['Transfer-Encoding: chunked'], ['b', 'grant_type=', '5;x="y"', 'wrong', '0', '', ''].join(LINE));
  const sized = token(['Content-Length: 16'], 'grant_type=wrong');
  const unknown = head('GET', '/nothing');
  const all = Array.from({ length: 20 }, () => GET() + chunked + sized + unknown).join('');
  const expected = Array.from({ length: 20 }, () => [200, 400, 400, 404]).flat();
  for (const pieces of [1, 2, 777]) {
    const connection = await connect();
    const size = Math.ceil(all.length / pieces);
    for (let at = 0; at < all.length; at += size) {
      connection.socket.write(all.slice(at, at + size));
      if (pieces > 1) await sleep(1);
    }
    await within(60, () => answers(connection.text()).length === expected.length, `80 answers to ${pieces} pieces: ${answers(connection.text())}`);
    assert.deepEqual(answers(connection.text()), expected, `${pieces} pieces`);
    connection.socket.destroy();
  }
});

test('fifty clients that pipeline 2,000 requests each and never read hold less than a megabyte each, and are cut', async (t) => {
  const before_ = await metric('process_resident_memory_bytes');
  const descriptors = await metric('process_open_fds');
  const attackers = await Promise.all(Array.from({ length: 50 }, async () => {
    const socket = net.connect({ port, host: '127.0.0.1' });
    await once(socket, 'connect');
    socket.on('error', () => {});
    socket.pause();
    // The shortest request with the largest response: a page.
    socket.write(head('GET', '/n').repeat(2000));
    return socket;
  }));
  // The maximum memory of the hub while it can't write.
  let most = 0, requests = 0;
  for (let look = 0; look < 20; look += 1) {
    await sleep(250);
    most = Math.max(most, await metric('process_resident_memory_bytes'));
    requests = await metric('passerelle_http_requests_total{endpoint="unmatched"');
  }
  const held = most - before_;
  t.diagnostic(`${(held / 2 ** 20).toFixed(1)} MB for 50 clients; ${requests} requests were answered`);
  assert.ok(held < 50 * 2 ** 20, `${held} bytes are held`);
  assert.equal((await fetch(`${hub.base}${JWKS}`)).status, 200);
  await within(90, async () => (await metric('process_open_fds')) < descriptors + 10, 'the cut of those that do not read');
  attackers.forEach((socket) => socket.destroy());
});

test('1,100 sockets against 1,024 descriptors leave the probes reachable, and newcomers on the public listener', async (t) => {
  const sockets = Array.from({ length: 1100 }, () => net.connect(port, '127.0.0.1').on('error', () => {}));
  await Promise.all(sockets.map((socket) => Promise.race([once(socket, 'connect'), once(socket, 'close')])));
  for (const probe of ['/livez', '/readyz', '/metrics']) assert.equal((await fetch(hub.privateBase + probe)).status, 200, probe);
  const open = await metric('process_open_fds');
  t.diagnostic(`${open} of ${DESCRIPTORS} descriptors are open`);
  assert.ok(open > 500 && open < DESCRIPTORS - 100, `${open} descriptors are open`);
  // A user connects while all of them are open.
  for (let visitor = 0; visitor < 20; visitor += 1) {
    const connection = await connect();
    connection.socket.write(head('GET', JWKS, 'Connection: close'));
    assert.deepEqual(answers(await connection.closed), [200], `visitor ${visitor}`);
  }
  sockets.forEach((socket) => socket.destroy());
  assert.doesNotMatch(hub.log(), /Too many open files|Error accepting/);
});

test('a field name of 65,536 bytes is answered 431 and panics nothing', async () => {
  for (const length of [257, 65_536, 100_000]) {
    const connection = await connect();
    connection.socket.write(`GET ${JWKS} HTTP/1.1${LINE}Host: localhost:${port}${LINE}${'x'.repeat(length)}: y${LINE}${LINE}`);
    assert.deepEqual(answers(await connection.closed), [431], `${length} bytes`);
  }
  assert.doesNotMatch(hub.log(), /panic/);
});

test('malformed HTTP writes one line a second, with a count and a code, and no ERROR', async (t) => {
  const seen = hub.log().length;
  const began = performance.now();
  for (let sent = 0; sent < 1000; sent += 50) {
    await Promise.all(Array.from({ length: 50 }, async () => {
      const connection = await connect();
      connection.socket.write(`NOT / HTTP AT ALL${LINE}${LINE}`);
      assert.deepEqual(answers(await connection.closed), [400]);
    }));
  }
  const lines = () => hub.log().slice(seen).split('\n').filter((line) => line.includes('Y500340'));
  const counted = () => lines().reduce((sum, line) => sum + Number(line.match(/count=(\d+)/)?.[1] ?? 0), 0);
  await within(20, () => counted() === 1000, `the count of all: ${lines().join('\n')}`);
  const seconds = (performance.now() - began) / 1000;
  t.diagnostic(`${lines().length} lines in ${seconds.toFixed(1)} s`);
  assert.ok(lines().length <= seconds + 1, `${lines().length} lines in ${seconds} s`);
  assert.doesNotMatch(hub.log().slice(seen), /ERROR/);
});

test('one peer has its share where the operator sets one', async () => {
  await hub.stop();
  process.env.PASSERELLE_PUBLIC__MAX_CONNECTIONS_PER_PEER = '20';
  try {
    hub = await start('hub-connections-peer');
  } finally {
    delete process.env.PASSERELLE_PUBLIC__MAX_CONNECTIONS_PER_PEER;
  }
  const all = await Promise.all(Array.from({ length: 60 }, connect));
  await within(20, () => all.filter((connection) => connection.isClosed).length === 40, 'the refusal of 40');
  await within(20, () => /Y500344/.test(hub.log()), 'its line');
  all.forEach((connection) => connection.socket.destroy());
  assert.ok(existsSync(hub.folder));
});
