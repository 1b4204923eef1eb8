// Shutdown: the hub is not ready, accepts no new connections, completes the requests in flight, and then exits.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import net from 'node:net';
import { test } from 'node:test';
import { freePorts, oidcConnector, program, startHub } from './harness.mjs';

const [port, privatePort] = await freePorts(2);
const hub = (more = {}) => startHub('hub-shutdown', {
  port, privatePort, ...more,
  sps: [{ id: 'alpha', secret: 'x'.repeat(40), redirectUris: [`http://localhost:${port}/sp/callback`] }],
  // The identity provider does not exist. The hub starts nevertheless.
  connectors: { nowhere: oidcConnector('http://localhost:9') },
});

/** A token request that sends its body when `finish` is called. */
function slowRequest() {
  const body = 'grant_type=authorization_code';
  const socket = net.connect(port, '127.0.0.1');
  const answered = new Promise((resolve, reject) => {
    let text = '';
    socket.on('data', (data) => { text += data; });
    socket.on('end', () => resolve(text));
    socket.on('error', reject);
  });
  const head = ['POST /api/v2/token HTTP/1.1', `Host: localhost:${port}`, 'Content-Type: application/x-www-form-urlencoded',
    `Content-Length: ${body.length}`, 'Connection: close', '', ''].join('\r\n');
  const sent = new Promise((resolve) => { socket.on('connect', () => socket.write(head, resolve)); });
  return { sent, answered, finish: () => socket.write(body) };
}

test('SIGTERM: not ready at once, new connections refused, the request in flight answered, exit status 0', async () => {
  const running = await hub();
  const slow = slowRequest();
  await slow.sent;
  // The head has reached a handler once another request, sent later, has been answered.
  assert.equal((await fetch(`${running.base}/api/v2/jwks`)).status, 200);
  running.signal('SIGTERM');
  const refused = () => fetch(`${running.base}/api/v2/jwks`).then(() => false, () => true);
  for (let tries = 0; !(await refused()); tries += 1) assert.ok(tries < 200, 'new connections are still accepted');
  assert.equal((await fetch(`${running.privateBase}/readyz`)).status, 503, 'probes are answered to the end');
  slow.finish();
  assert.match(await slow.answered, /^HTTP\/1\.1 400 [\s\S]*"error":"invalid_request"/);
  assert.equal(await running.exited, 0);
  await running.stop();
});

test('not_ready_seconds: probes turn red while requests are served, each the last on its connection; a second signal ends the wait', async (t) => {
  const running = await hub({ limits: 'not_ready_seconds = 300' });
  t.after(running.stop);
  assert.equal((await fetch(`${running.base}/api/v2/jwks`)).headers.get('connection'), null);
  running.signal('SIGTERM');
  const red = () => fetch(`${running.privateBase}/readyz`).then((answer) => answer.status === 503);
  for (let tries = 0; !(await red()); tries += 1) assert.ok(tries < 200, 'the hub still says that it is ready');
  const served = await fetch(`${running.base}/api/v2/jwks`);
  assert.deepEqual([served.status, served.headers.get('connection')], [200, 'close']);
  running.signal('SIGTERM');
  assert.equal(await running.exited, 0);
});

test('a second signal cuts what is in flight', async (t) => {
  const running = await hub({ limits: 'shutdown_seconds = 300\nrequest_seconds = 120' });
  t.after(running.stop);
  const slow = slowRequest();
  await slow.sent;
  assert.equal((await fetch(`${running.base}/api/v2/jwks`)).status, 200);
  running.signal('SIGTERM');
  const refused = () => fetch(`${running.base}/api/v2/jwks`).then(() => false, () => true);
  for (let tries = 0; !(await refused()); tries += 1) assert.ok(tries < 200, 'new connections are still accepted');
  running.signal('SIGINT');
  assert.equal(await running.exited, 0);
  assert.equal(await slow.answered.catch(() => ''), '', 'it has no answer');
});

test('passerelle health asks the probes: 0 while the hub is alive, 1 when no one answers', async (t) => {
  const running = await hub();
  t.after(running.stop);
  const ask = (...more) => spawnSync(program, ['health', '--address', `127.0.0.1:${privatePort}`, ...more], { encoding: 'utf8' });
  assert.deepEqual([ask().status, ask().stdout], [0, '{"alive":true}\n']);
  assert.equal(ask('--ready').status, 0);
  await running.stop();
  const alone = ask();
  assert.equal(alone.status, 1);
  assert.match(alone.stderr, /no hub answers at http:\/\/127\.0\.0\.1:\d+\/livez .*--address/);
});
