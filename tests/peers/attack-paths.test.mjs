// Addresses written in other ways: percent-encoded to escape the audit log, and host names of the private listener that a
// website could have resolve to this machine.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { freePorts, oidcConnector, startHub } from './harness.mjs';

let hub, ports;
before(async () => {
  ports = await freePorts(2);
  const [port, privatePort] = ports;
  hub = await startHub('hub-paths', {
    port, privatePort, settings: 'audit = { sink = "file" }',
    sps: [{ id: 'alpha', secret: 'x'.repeat(40), redirectUris: [`http://localhost:${port}/sp/callback`] }],
    connectors: { nowhere: oidcConnector('http://localhost:9') },
  });
});
after(() => hub?.stop());

/** A request whose address and host are sent as they are written here. */
const ask = (port, target, { method = 'GET', host = `localhost:${port}`, body } = {}) => new Promise((resolve, reject) => {
  const headers = { host, ...(body === undefined ? {} : { 'content-type': 'application/x-www-form-urlencoded' }) };
  const sent = http.request({ host: '127.0.0.1', port, path: target, method, headers, agent: false }, (response) => {
    let text = '';
    response.on('data', (chunk) => { text += chunk; });
    response.on('end', () => resolve({ status: response.statusCode, headers: response.headers, text }));
  });
  sent.once('error', reject);
  sent.end(body);
});
const audit = () => readFileSync(path.join(hub.folder, 'audit/audit.jsonl'), 'utf8').split('\n').filter(Boolean).map((line) => JSON.parse(line));
const wrong = { method: 'POST', body: 'grant_type=authorization_code&client_id=alpha&client_secret=guess&code=x&redirect_uri=y' };

test('a percent-encoded address is not served, so no refusal escapes the audit log', async () => {
  const refusals = () => audit().filter((line) => line.event === 'token_refused').length;
  const until = async (count) => {
    for (let tries = 0; refusals() < count; tries += 1) {
      assert.ok(tries < 400, `${refusals()} of ${count} refusals are recorded`);
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
    return refusals();
  };
  assert.equal((await ask(ports[0], '/api/v2/token', wrong)).status, 401);
  await until(1);
  for (const target of ['/api/v2/%74oken', '/api/v2/toke%6E', '/%61pi/v2/token', '/api/v2/%54oken', '/api/v2/token%2F', '/api%2Fv2/token', '/api/v2/x/%2e%2e/token']) {
    const answer = await ask(ports[0], target, wrong);
    assert.equal(answer.status, 404, target);
    assert.doesNotMatch(answer.text, /invalid_client/, target);
  }
  assert.equal((await ask(ports[0], '/api/v2/token', wrong)).status, 401);
  assert.equal(await until(2), 2);
  const metrics = (await ask(ports[1], '/metrics')).text;
  assert.match(metrics, /passerelle_http_requests_total\{endpoint="\/api\/v2\/token",listener="public",status="4xx"\} 2\n/);
  assert.match(metrics, /passerelle_http_requests_total\{endpoint="unmatched",listener="public",status="4xx"\} 7\n/);
  assert.doesNotMatch(metrics, /endpoint="[^"]*%/);
});

test('a percent-encoded address of the private listener is 404', async () => {
  for (const [target, status] of [['/livez', 200], ['/%6civez', 404], ['/livez%7E', 404], ['/admin/%62locks', 404]]) {
    assert.equal((await ask(ports[1], target)).status, status, target);
  }
});

test('a website that has its name resolve to this machine reads nothing of the private listener', async () => {
  const [, port] = ports;
  for (const host of [`127.0.0.1:${port}`, '127.0.0.1', `[::1]:${port}`, `localhost:${port}`, 'LOCALHOST', '10.1.2.3:80']) {
    assert.equal((await ask(port, '/metrics', { host })).status, 200, host);
  }
  for (const host of ['rebound.example', `rebound.example:${port}`, 'localhost.rebound.example', '127.0.0.1.rebound.example', 'x@localhost']) {
    for (const target of ['/metrics', '/readyz', '/livez', '/config/digest', '/admin/', '/admin/connectors']) {
      const answer = await ask(port, target, { host });
      assert.equal(answer.status, 421, `${host} ${target}`);
      assert.equal(JSON.parse(answer.text).code, 'Y000421');
    }
  }
});
