// Going down: not ready, no new connections, what is in flight finishes, then the process ends by itself.
import assert from 'node:assert/strict';
import net from 'node:net';
import { test } from 'node:test';
import { freePorts, oidcConnector, startHub } from './harness.mjs';

const [port, privatePort] = await freePorts(2);
const hub = () => startHub('hub-shutdown', {
  port, privatePort,
  sps: [{ id: 'alpha', secret: 'x'.repeat(40), redirectUris: [`http://localhost:${port}/sp/callback`] }],
  // An identity provider that is not there: the hub starts all the same.
  connectors: { nowhere: oidcConnector('http://localhost:9') },
});

/** A token request whose body stays away until `finish` is called. */
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
