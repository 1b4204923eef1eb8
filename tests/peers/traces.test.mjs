// One login as a tree of spans, exported to a collector over OTLP/HTTP; and a collector that is away. All that the hub says
// meanwhile is searched for what a real identity provider and a real service provider keep secret.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import * as oidc from 'openid-client';
import { DATA_PROVIDER_SECRET, dataProviderFiles, discoverHub, buildAuthorizationRequest, startFederation, fetchUserinfo } from './federation.mjs';
import { Browser, IDP_SECRET, freePorts, startServer, signIn } from './harness.mjs';
import { readTraces } from './otlp.mjs';

/** A collector that takes everything, or answers with another status. */
async function startCollector() {
  const state = { spans: [], bodies: [], headers: [], status: 200 };
  const server = await startServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    if (state.status === 200) {
      const body = Buffer.concat(chunks);
      const { resourceSpans } = readTraces(body);
      state.headers.push(request.headers);
      state.bodies.push(body.toString());
      state.resource = resourceSpans[0].resource;
      state.spans.push(...resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)));
    }
    response.writeHead(state.status, { 'content-type': 'application/x-protobuf' }).end();
  });
  return { ...server, state };
}

const settings = (endpoint, more = '') => `audit = { sink = "file" }
[log]
format = "json"
filter = "info,passerelle=trace"
[traces]
endpoint = "${endpoint}"
insecure_http = true
internal_hosts = ["127.0.0.1"]
sample_ratio = 1.0
headers = { Authorization = { file = "collector.key" } }
resource = { "deployment.environment.name" = "test" }
${more}
`;

const COLLECTOR_KEY = 'Bearer the-key-of-the-collector-0815';
const files = { 'collector.key': COLLECTOR_KEY, ...dataProviderFiles({ archive: '' }) };

/** A whole login by real libraries; returns the values that must never be seen elsewhere. */
async function login(federation) {
  const { hub, sp, idp } = federation;
  const client = await discoverHub(hub, sp);
  const authorization = await buildAuthorizationRequest(client, sp);
  const redirect = new URL(await signIn(new Browser(), authorization.url, { stopAt: sp.redirectUri }));
  const tokens = await oidc.authorizationCodeGrant(client, redirect, {
    pkceCodeVerifier: authorization.verifier, expectedState: authorization.state, expectedNonce: authorization.nonce, idTokenExpected: true,
  });
  const info = await (await fetchUserinfo(hub, tokens.access_token)).text();
  const checked = await fetch(`${hub.issuer}/checktoken`, {
    method: 'POST', body: new URLSearchParams({ client_id: 'archive', client_secret: DATA_PROVIDER_SECRET, token: tokens.access_token }),
  });
  const upstream = idp.answers.map(({ body }) => (typeof body === 'string' && body.startsWith('{') ? JSON.parse(body) : body));
  return { asked: authorization, code: redirect.searchParams.get('code'), tokens, info, checked: checked.status, upstream: upstream.filter(Boolean) };
}

const attribute = (span, key) => span.attributes.find((one) => one.key === key)?.value.stringValue;

/** Waits until `condition` holds, because spans are exported in the background. */
async function until(condition, what) {
  const deadline = performance.now() + 20_000;
  while (!condition()) {
    assert.ok(performance.now() < deadline, what);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

test('one login is one tree, its parties are named as the settings say, and nothing secret is in it', async () => {
  const collector = await startCollector();
  const federation = await startFederation('hub-traces', {}, {
    files, settings: settings(`http://127.0.0.1:${collector.port}/v1/traces`, 'propagate = "all"'),
  });
  try {
    const { state } = collector;
    const done = await login(federation);
    assert.equal(done.checked, 200);
    const route = (name) => state.spans.find((span) => span.name === name);
    await until(() => route('POST /api/v2/checktoken'), 'the last request is not exported');
    const root = route('GET /api/v2/authorize');
    const tree = state.spans.filter((span) => span.traceId === root.traceId);
    const ids = new Map(tree.map((span) => [span.spanId, span]));
    assert.equal(ids.size, tree.length, 'each id once');
    for (const span of tree) {
      if (span !== root) assert.ok(ids.has(span.parentSpanId), `${span.name} hangs from nothing`);
      assert.ok(BigInt(span.endTimeUnixNano) >= BigInt(span.startTimeUnixNano), span.name);
    }
    assert.equal(root.parentSpanId, undefined);
    const names = tree.map((span) => span.name);
    for (const name of [
      'GET /api/v2/authorize', 'GET /api/v2/interaction/{hash}', 'POST /api/v2/interaction/{hash}/provider',
      'GET /api/v2/callback/{connector}', 'POST /api/v2/interaction/{hash}/consent', 'POST /api/v2/token', 'GET /api/v2/userinfo',
      'POST /api/v2/checktoken', 'login step', 'idp begin_login', 'idp complete_login', 'idp token', 'idp userinfo', 'register lookup', 'sign',
    ]) assert.ok(names.includes(name), `no span ${name} in ${names.join(', ')}`);
    const supportIds = new Set(tree.filter((span) => attribute(span, 'passerelle.support_id')).map((span) => attribute(span, 'passerelle.support_id')));
    assert.equal(supportIds.size, 1, 'found by what the citizen reads');
    assert.equal(attribute(tree.find((span) => span.name === 'idp complete_login'), 'passerelle.connector'), 'real');

    // The identity provider receives the call's own span.
    for (const [asked, parent] of [['/token', 'idp token'], ['/me', 'idp userinfo']]) {
      const [, traceId, spanId, flags] = federation.idp.answers.find((answer) => answer.path === asked).traceparent.split('-');
      assert.deepEqual([traceId, flags], [root.traceId, '01']);
      assert.equal(ids.get(ids.get(spanId).parentSpanId).name, parent);
    }
    assert.ok(state.headers.every((headers) => headers.authorization === COLLECTOR_KEY));
    assert.deepEqual(state.resource.attributes.filter(({ key }) => key !== 'service.version'), [
      { key: 'service.name', value: { stringValue: 'passerelle' } },
      { key: 'deployment.environment.name', value: { stringValue: 'test' } },
    ]);

    // The log's lines of this login carry both ids.
    const [supportId] = supportIds;
    const lines = federation.hub.log().split('\n').filter((line) => line.startsWith('{')).map((line) => JSON.parse(line));
    const granted = lines.find((line) => line.message === 'login completed');
    assert.deepEqual([granted.support_id, granted.trace_id, granted.level, granted.target], [supportId, root.traceId, 'INFO', 'passerelle_hub::steps::outcomes']);

    const metrics = await (await fetch(`${federation.hub.privateBase}/metrics`)).text();
    const digest = await (await fetch(`${federation.hub.privateBase}/config/digest`)).text();
    assert.match(metrics, /passerelle_trace_spans_total\{outcome="exported"\} [1-9]/);
    const audit = readFileSync(path.join(federation.hub.folder, 'audit/audit.jsonl'), 'utf8');
    const said = { log: federation.hub.log(), spans: state.bodies.join('\n'), metrics, digest, audit };
    const tokens = done.upstream.flatMap((answer) => [answer.access_token, answer.id_token]).filter(Boolean);
    assert.ok(tokens.length >= 2, 'what the identity provider gave was seen');
    const secrets = {
      'our code': done.code, 'our access token': done.tokens.access_token, 'our ID token': done.tokens.id_token, userinfo: done.info,
      'the verifier': done.asked.verifier, state: done.asked.state, nonce: done.asked.nonce, 'the client secret': federation.sp.secret,
      'the data provider’s secret': DATA_PROVIDER_SECRET, 'our secret upstream': IDP_SECRET, 'the collector’s key': COLLECTOR_KEY,
      'the family name': 'DUBOIS', 'the e-mail': 'angela@example.org', 'the birthdate': '1962-08-24', 'the upstream sub': 'idp-angela',
      ...Object.fromEntries(tokens.map((token, index) => [`upstream token ${index}`, token])),
      'the upstream code': federation.idp.answers.find((answer) => answer.path === '/token').form.code,
    };
    for (const [what, secret] of Object.entries(secrets)) {
      assert.ok(secret?.length >= 6, what);
      for (const [where, text] of Object.entries(said)) assert.ok(!text.includes(secret), `${what} is in the ${where}`);
    }
  } finally {
    await federation.stop();
    await collector.close();
  }
});

test('by default no one outside receives a trace context', async () => {
  const collector = await startCollector();
  const federation = await startFederation('hub-traces-silent', {}, { files, settings: settings(`http://127.0.0.1:${collector.port}/v1/traces`) });
  try {
    await login(federation);
    assert.ok(federation.idp.answers.every(({ traceparent }) => !traceparent));
  } finally {
    await federation.stop();
    // What waited was sent on the way down.
    assert.ok(collector.state.spans.some((span) => span.name === 'POST /api/v2/checktoken'));
    await collector.close();
  }
});

test('an unavailable collector harms no login, and is reported once', async () => {
  const [port] = await freePorts(1);
  const federation = await startFederation('hub-traces-away', {}, {
    files, settings: settings(`http://127.0.0.1:${port}/v1/traces`, 'queue_spans = 128'),
  });
  try {
    for (let count = 0; count < 6; count += 1) assert.equal((await login(federation)).checked, 200);
    const metrics = await (await fetch(`${federation.hub.privateBase}/metrics`)).text();
    assert.match(metrics, /passerelle_trace_spans_total\{outcome="queue_full"\} [1-9]/);
    const warnings = () => federation.hub.log().match(/the trace collector does not accept spans/g)?.length;
    await until(warnings, 'nothing is said');
    assert.equal(warnings(), 1);
  } finally {
    const began = performance.now();
    await federation.stop();
    assert.ok(performance.now() - began < 15_000, 'the end was held up');
  }
});
