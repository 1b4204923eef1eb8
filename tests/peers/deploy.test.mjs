// deploy/: each file is read by the program that it is written for, and the proxies' files carry a whole login over TLS.
//
// DEPLOY_TOOLS is the folder of hadolint, kubernetes-validate and their python; HELM is helm (tests/run sets it).
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, createWriteStream, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import https from 'node:https';
import net from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { SCOPE, discoverHub, redeemCode, buildAuthorizationRequest, fetchUserinfo } from './federation.mjs';
import { Browser, IDP_CLIENT, IDP_SECRET, artifacts, freePorts, oidcConnector, program, random, root, startServer, signIn, startHub } from './harness.mjs';
import { startIdp } from './real-idp.mjs';

const tools = process.env.DEPLOY_TOOLS ?? path.join(root, 'target/deploy-tools/bin');
const deploy = path.join(root, 'deploy');
const read = (name) => readFileSync(path.join(deploy, name), 'utf8');
const folder = mkdtempSync(path.join(tmpdir(), 'passerelle-deploy-'));
after(() => rmSync(folder, { recursive: true, force: true }));

/** Runs a command to its end: what it said, once it has ended well. */
function run(command, args, options = {}) {
  const done = spawnSync(command, args, { encoding: 'utf8', ...options });
  const said = `${done.stdout}${done.stderr}`;
  assert.equal(done.status, 0, `${command} ${args.join(' ')}: ${done.error ?? ''}\n${said}`);
  return said;
}
/** The text with each `from` replaced by its `to`; one that is not there is a fault: the example has changed. */
const adapt = (text, changes) => changes.reduce((now, [from, to]) => {
  assert.ok(now.includes(from), `the example has no ${from}`);
  return now.replaceAll(from, to);
}, text);

test('the container file passes hadolint, and its health check is a command of the program', () => {
  run(path.join(tools, 'hadolint'), ['--failure-threshold', 'style', path.join(deploy, 'container/Containerfile')]);
  const [, check] = read('container/Containerfile').match(/HEALTHCHECK[\s\S]*?CMD (\[.*\])/);
  const [name, ...args] = JSON.parse(check);
  assert.equal(name, '/usr/bin/passerelle');
  // No program listens on port 1, so the command runs and the connection fails.
  const asked = spawnSync(program, adapt(args.join(' '), [['127.0.0.1:9090', '127.0.0.1:1']]).split(' '), { encoding: 'utf8' });
  assert.match(asked.stderr, /no hub answers/);
});

test('the sandbox: the compose file passes dclint, and each command publishes the ports of the demo on this machine only', () => {
  const compose = path.join(deploy, 'sandbox/compose.yaml');
  run(path.join(root, 'tests/peers/node_modules/.bin/dclint'), ['--max-warnings', '0', compose]);
  const { services: { demo } } = JSON.parse(run(path.join(tools, 'python'), ['-c', 'import json, sys, yaml; json.dump(yaml.safe_load(open(sys.argv[1])), sys.stdout)', compose]));
  const [, version] = demo.image.match(/:-passerelle:(.*)}$/);
  const [, first, last] = readFileSync(path.join(root, 'docs/integrate/sandbox.md'), 'utf8').match(/ports\s+from (\d+) to (\d+)/);
  assert.deepEqual(demo.ports, [`127.0.0.1:${first}-${last}:${first}-${last}`]);
  assert.ok(read('sandbox/README.md').includes(`docker run --rm -p ${demo.ports[0]} passerelle:${version} ${demo.command.join(' ')}`));
});

// `tests/run --all` builds helm, which takes minutes.
const helm = [process.env.HELM, path.join(process.env.CARGO_TARGET_DIR ?? path.join(root, 'target'), 'tools/helm'), '/usr/local/bin/helm', '/usr/bin/helm'].find((file) => file && existsSync(file));
const skip = !helm && 'no helm here; tests/run --all builds it';
const chart = path.join(deploy, 'helm/passerelle');
/** Renders the chart; returns the file and its objects by kind and name. */
function render(name, ...values) {
  const file = path.join(folder, `${name}.yaml`);
  const rendered = spawnSync(helm, ['template', 'passerelle', chart, '--kube-version', '1.31.0', ...values], { encoding: 'utf8' });
  if (rendered.status !== 0) throw new Error(rendered.stderr);
  writeFileSync(file, rendered.stdout);
  const objects = JSON.parse(run(path.join(tools, 'python'), ['-c', 'import json, sys, yaml; json.dump([o for o in yaml.safe_load_all(open(sys.argv[1])) if o], sys.stdout)', file]));
  return { file, objects: Object.fromEntries(objects.map((object) => [`${object.kind} ${object.metadata.name}`, object])) };
}
const example = ['--values', path.join(deploy, 'helm/example.yaml')];

test('the chart passes helm lint, and its objects follow the schemas of Kubernetes, strictly', { skip }, () => {
  run(helm, ['lint', '--strict', chart, ...example]);
  const [complete, least] = [render('complete', ...example), render('least', '--set', 'host=login.example.org')];
  for (const { file } of [complete, least]) run(path.join(tools, 'kubernetes-validate'), ['--strict', '--no-warn', file]);
  const kinds = ({ objects }) => [...new Set(Object.values(objects).map(({ kind }) => kind))].sort();
  const always = ['ConfigMap', 'Deployment', 'Ingress', 'NetworkPolicy', 'PodDisruptionBudget', 'Service'];
  assert.deepEqual(kinds(least), always);
  assert.deepEqual(kinds(complete), [...always, 'HorizontalPodAutoscaler', 'PodMonitor', 'PrometheusRule'].sort());
  const rules = path.join(folder, 'rules.yaml');
  writeFileSync(rules, JSON.stringify(complete.objects['PrometheusRule passerelle'].spec));
  run('promtool', ['check', 'rules', rules]);
  // Labels by which objects find the pods.
  const { labels } = complete.objects['Deployment passerelle'].spec.template.metadata;
  for (const name of ['Service', 'PodDisruptionBudget', 'NetworkPolicy', 'PodMonitor', 'Deployment'].map((kind) => `${kind} passerelle`)) {
    const { selector, podSelector } = complete.objects[name].spec;
    const wanted = (selector ?? podSelector).matchLabels ?? selector;
    assert.ok(Object.keys(wanted).length > 0);
    for (const [label, value] of Object.entries(wanted)) assert.equal(labels[label], value, `${name}: ${label}`);
  }
});

test('the chart refuses several hubs without a shared store, an installation without a host, and a value that it does not know', { skip }, () => {
  assert.throws(() => render('misspelt', '--set', 'host=login.example.org,redis.node=a'), /'node' not allowed/);
  assert.throws(() => render('several', '--set', 'host=login.example.org,replicas=2'), /several hubs need a shared store/);
  assert.throws(() => render('nowhere'), /host is required/);
});

test('a changed setting restarts the pods, a changed connector does not', { skip }, () => {
  const pod = (...values) => JSON.stringify(render('changed', ...example, ...values).objects['Deployment passerelle'].spec.template);
  assert.notEqual(pod('--set', 'platform=high'), pod());
  assert.equal(pod('--set', 'connectors.example.file=other'), pod());
});

/** A folder as the kubelet mounts it: each file a link through `..data`. */
function mount(target, files) {
  mkdirSync(path.join(target, '..2027_01_01'), { recursive: true });
  symlinkSync('..2027_01_01', path.join(target, '..data'));
  for (const [name, content] of Object.entries(files)) {
    writeFileSync(path.join(target, '..2027_01_01', name), content);
    chmodSync(path.join(target, '..2027_01_01', name), 0o400);
    symlinkSync(`..data/${name}`, path.join(target, name));
  }
}

test('the pod: what is mounted is a configuration that passes, and the times agree', { skip }, () => {
  const { objects } = render('pod', ...example);
  const pod = objects['Deployment passerelle'].spec.template.spec;
  const container = pod.containers[0];
  const image = Object.fromEntries([...read('container/Containerfile').matchAll(/(PASSERELLE_\w+)=(\S+)/g)].map(([, name, value]) => [name, value]));
  const environment = { ...image, ...Object.fromEntries(container.env.map(({ name, value }) => [name, value])) };
  const etc = path.join(folder, 'etc');
  const configMap = (name) => objects[`ConfigMap passerelle-${name}`].data;
  const keys = path.join(folder, 'made-keys');
  run(program, ['keys', 'new', '--dir', keys]);
  const files = (from) => Object.fromEntries(readdirSync(from, { withFileTypes: true }).filter((entry) => entry.isFile()).map(({ name }) => [name, readFileSync(path.join(from, name))]));
  const documented = readFileSync(path.join(root, 'docs/deploying.md'), 'utf8');
  // What docs/deploying.md puts into each Secret.
  const secret = (name) => {
    const [, command] = documented.match(new RegExp(`create secret generic ${name} ((?:[^\n\\\\]|\\\\\n)*)`));
    const sources = [...command.matchAll(/--from-file=(\S+)/g)].map(([, file]) => file);
    const inFolder = sources[0].match(/^keys(.*)/);
    return inFolder ? files(path.join(keys, inFolder[1])) : Object.fromEntries(sources.map((file) => [file, random(48)]));
  };
  const volumes = Object.fromEntries(pod.volumes.map((volume) => [volume.name, volume]));
  for (const { name, mountPath, subPath } of container.volumeMounts.filter((mounted) => mounted.mountPath.startsWith('/etc/'))) {
    const target = path.join(folder, mountPath.replace('/etc/passerelle', 'etc'));
    const { configMap: map, secret: kept } = volumes[name];
    const content = map ? configMap(map.name.replace('passerelle-', '')) : secret(kept.secretName);
    if (subPath) {
      mkdirSync(etc, { recursive: true });
      writeFileSync(target, content[subPath]);
    } else mount(target, content);
  }
  run(program, ['check', '--config', etc], { env: { PATH: process.env.PATH, ...environment, PASSERELLE_CONNECTORS: path.join(etc, 'connectors') } });
  // What Kubernetes sets for a Service of the hub's name would be refused.
  const linked = spawnSync(program, ['check', '--config', etc], { encoding: 'utf8', env: { PATH: process.env.PATH, PASSERELLE_SERVICE_HOST: '10.0.0.1' } });
  assert.deepEqual([linked.status, pod.enableServiceLinks], [1, false]);

  const limit = (name) => Number(configMap('settings')['passerelle.toml'].match(new RegExp(`^${name} = (\\d+)$`, 'm'))[1]);
  assert.ok(pod.terminationGracePeriodSeconds > limit('not_ready_seconds') + 2 * limit('shutdown_seconds'), 'the pod would be killed while it drains');
  const { periodSeconds, failureThreshold } = container.readinessProbe;
  assert.ok(limit('not_ready_seconds') > periodSeconds * failureThreshold, 'the hub would stop before anyone knows');
});

test('the units pass systemd-analyze verify, and expose little', { skip: !existsSync('/usr/bin/systemd-analyze') && 'no systemd-analyze here' }, () => {
  const units = path.join(folder, 'units');
  mkdirSync(units);
  for (const name of readdirSync(path.join(deploy, 'systemd')).filter((name) => /\.(service|socket)$/.test(name))) {
    // Neither the program nor its documentation is installed here.
    const text = read(`systemd/${name}`).replace('/usr/bin/passerelle', path.resolve(program)).replace(/^Documentation=.*\n/m, '');
    writeFileSync(path.join(units, name), text);
  }
  const all = readdirSync(units).map((name) => path.join(units, name));
  const said = run('systemd-analyze', ['verify', '--recursive-errors=no', ...all]);
  assert.equal(said.split('\n').filter((line) => line.includes(units) || line.startsWith('passerelle')).join('\n'), '');
  // The figure that docs/deploying.md gives: 1.2 of 10.
  run('systemd-analyze', ['security', '--offline=true', '--threshold=15', path.join(units, 'passerelle.service')]);
});

test('the sockets of the units are those that the hub takes by name', () => {
  const names = readdirSync(path.join(deploy, 'systemd')).filter((name) => name.endsWith('.socket'))
    .map((name) => read(`systemd/${name}`).match(/^FileDescriptorName=(.*)$/m)[1]);
  assert.deepEqual(names.sort(), ['private', 'public']);
});

/** A program that runs until it is stopped; ready when it accepts on `port`. */
async function start(name, command, args, port) {
  const log = createWriteStream(path.join(artifacts, `${name}.log`));
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  for (const stream of [child.stdout, child.stderr]) stream.pipe(log, { end: false });
  const ended = new Promise((done) => { child.once('error', done); child.once('exit', done); });
  let over = false;
  ended.then(() => { over = true; });
  const accepts = () => new Promise((done) => {
    const socket = net.connect(port, '127.0.0.1', () => { socket.destroy(); done(true); }).once('error', () => done(false));
  });
  for (let tries = 0; !(await accepts()); tries += 1) {
    assert.ok(!over && tries < 200, `${name} does not listen: see ${name}.log`);
    await new Promise((done) => { setTimeout(done, 50); });
  }
  return async () => { child.kill('SIGTERM'); await ended; log.end(); };
}

/** Certificate and key for localhost, as one file and as two. */
function certificate() {
  const [key, crt, both] = ['tls.key', 'tls.crt', 'tls.pem'].map((name) => path.join(folder, name));
  if (!existsSync(both)) {
    run('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2', '-subj', '/CN=localhost',
      '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1', '-keyout', key, '-out', crt]);
    writeFileSync(both, readFileSync(crt, 'utf8') + readFileSync(key, 'utf8'), { mode: 0o600 });
  }
  return { key, crt, both };
}

/** The example's hubs, in their order, replaced by these ports of this machine; lines of those beyond fall away. */
const withHubs = (text, line, hubs) => adapt(text, [11, 12, 13].map((last, index) => {
  const whole = line(last);
  return [whole, index < hubs.length ? whole.replace(/10\.0\.0\.\d+:8080/, `127.0.0.1:${hubs[index]}`) : ''];
}));

/** The proxies, each by its example, with this machine's addresses in place of the example's. */
const PROXIES = {
  nginx({ plain, tls, hubs }) {
    const { key, crt } = certificate();
    const text = withHubs(read('nginx/passerelle.conf'), (last) => `    server 10.0.0.${last}:8080 max_fails=3 fail_timeout=5s;\n`, hubs);
    const site = adapt(text, [
      ['listen 80;', `listen 127.0.0.1:${plain};`], ['listen [::]:80;', ''],
      ['listen 443 ssl http2;', `listen 127.0.0.1:${tls} ssl http2;`], ['listen [::]:443 ssl http2;', ''],
      ['https://login.example.org$', `https://localhost:${tls}$`], ['server_name login.example.org', 'server_name localhost'],
      ['/etc/nginx/tls/login.example.org.crt', crt], ['/etc/nginx/tls/login.example.org.key', key], ['/var/log/nginx/', `${folder}/nginx-`],
    ]);
    const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${folder}/nginx-${name};`).join(' ');
    const whole = path.join(folder, 'nginx.conf');
    writeFileSync(whole, `daemon off; pid ${folder}/nginx.pid; worker_processes 1; error_log stderr;
events { worker_connections 256; }
http { access_log off; ${temporary}\n${site}\n}\n`);
    const args = ['-e', 'stderr', '-p', folder, '-c', whole];
    return { command: '/usr/sbin/nginx', check: ['-t', ...args], args };
  },
  haproxy({ plain, tls, hubs, probes }) {
    const { both } = certificate();
    const file = path.join(folder, 'haproxy.cfg');
    const named = withHubs(read('haproxy/haproxy.cfg'), (last) => `    server hub-${last - 10} 10.0.0.${last}:8080\n`, hubs);
    const text = withHubs(named, (last) => `    server hub-${last - 10} 10.0.0.${last}:8080 track passerelle/hub-${last - 10} maxconn 2000\n`, hubs);
    writeFileSync(file, adapt(text, [
      // As many descriptors as anybody may open.
      ['maxconn 20000\n', 'maxconn 200\n'], ['check port 9090', `check port ${probes}`], ['bind :80', `bind 127.0.0.1:${plain}`], ['bind :443', `bind 127.0.0.1:${tls}`],
      ['https://login.example.org%', `https://localhost:${tls}%`], ['/etc/haproxy/tls/login.example.org.pem', both],
    ]));
    return { command: '/usr/sbin/haproxy', check: ['-c', '-f', file], args: ['-db', '-f', file] };
  },
};

before(() => {
  // The certificate was made a moment ago, and fetch takes no authorities later than at its start.
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
});

for (const [name, configured] of Object.entries(PROXIES)) {
  test(`${name}: its own check passes, and a whole login goes through it over TLS`, async (t) => {
    const [plain, tls, hub, hubPrivate, idpPort] = await freePorts(5);
    const { command, check, args } = configured({ plain, tls, hubs: [hub], probes: hubPrivate });
    run(command, check);

    const base = `https://localhost:${tls}`;
    const sp = { id: 'alpha', secret: random(32), redirectUri: `${base}/sp/callback` };
    const idp = await startIdp({ port: idpPort, clientId: IDP_CLIENT, clientSecret: IDP_SECRET, userinfoAlg: 'ES256', redirectUris: [`${base}/api/v2/callback/real`] });
    t.after(() => idp.close());
    const running = await startHub(`hub-${name}`, {
      port: hub, privatePort: hubPrivate, base,
      sps: [{ ...sp, redirectUris: [sp.redirectUri], scopes: [...SCOPE.split(' '), 'profile', 'birth', 'identite_pivot'] }],
      connectors: { real: oidcConnector(idp.issuer, 'userinfo_signed_response_alg = "ES256"') },
    });
    t.after(running.stop);
    t.after(await start(name, command, args, tls));
    const up = async () => (await fetch(`${base}/api/v2/jwks`)).status === 200;
    for (let tries = 0; !(await up()); tries += 1) assert.ok(tries < 200, `${name} finds no hub`);

    const authorization = await buildAuthorizationRequest(await discoverHub(running, sp), sp);
    const redirect = new URL(await signIn(new Browser(), authorization.url, { stopAt: sp.redirectUri }));
    const tokens = await redeemCode(running, sp, { code: redirect.searchParams.get('code'), code_verifier: authorization.verifier });
    assert.equal(tokens.status, 200, JSON.stringify(tokens.body));
    assert.equal((await fetchUserinfo(running, tokens.body.access_token)).status, 200);

    const moved = await fetch(`http://127.0.0.1:${plain}/api/v2/jwks?x=1`, { redirect: 'manual' });
    assert.deepEqual([moved.status, moved.headers.get('location')], [308, `${base}/api/v2/jwks?x=1`]);
    // Parameters as long as the hub takes them get there; a longer body gets nowhere.
    const long = await fetch(`${base}/api/v2/authorize?state=${'x'.repeat(60_000)}`, { redirect: 'manual' });
    assert.ok(long.headers.has('content-security-policy'), `the hub itself answers, and not the proxy: ${long.status}`);
    const post = (length) => fetch(`${base}/api/v2/token`, { method: 'POST', body: 'x'.repeat(length), headers: { 'content-type': 'application/x-www-form-urlencoded' } });
    assert.equal((await (await post(60_000)).json()).error, 'invalid_request');
    const large = await post(70_000);
    assert.deepEqual([large.status, (await large.json()).error], [413, 'invalid_request']);
    const page = await fetch(`${base}/api/v2/authorize`, { method: 'POST', body: 'x'.repeat(70_000), headers: { 'content-type': 'application/x-www-form-urlencoded' } });
    assert.equal(page.status, 413);
    assert.match(page.headers.get('content-type') ?? '', /^text\/html/);
    // The private listener's paths are not reachable from outside.
    for (const inside of ['/readyz', '/metrics', '/admin/connectors']) assert.equal((await fetch(base + inside)).status, 404, inside);

    // What the autoscaler counts logins by.
    const [, series, labels] = read('helm/prometheus-adapter.yaml').match(/seriesQuery: '(\w+)\{(.*?),namespace/);
    const metrics = await (await fetch(`${running.privateBase}/metrics`)).text();
    assert.match(metrics, new RegExp(`^${series}\\{${labels}\\} [1-9]`, 'm'));

    // A hub that is away: a POST is answered, and never kept for later.
    await running.stop();
    const away = await post(10);
    assert.ok([502, 503].includes(away.status), `${away.status}`);
    assert.equal((await away.json()).error, 'temporarily_unavailable', 'a program gets JSON');
  });
}

/** A hub that is ready, and breaks each connection once a whole request has come; `requests` counts them. */
async function broken() {
  const state = { requests: 0 };
  const server = await startServer((request, response) => {
    if (request.url === '/readyz') return response.end();
    request.resume().on('end', () => { state.requests += 1; request.socket.destroy(); });
  });
  return Object.assign(state, server);
}

for (const [name, configured] of Object.entries(PROXIES)) {
  test(`${name}: a code that was sent to one hub is never sent to another; where none listens, another one is asked`, async (t) => {
    const [plain, tls, unused] = await freePorts(3);
    const [one, other] = await Promise.all([broken(), broken()]);
    t.after(() => Promise.all([one.close(), other.close()]));
    const sent = () => one.requests + other.requests;
    // Each over a connection of its own: where a client's connection has carried a request before, HAProxy closes it instead of
    // answering 502.
    const posted = (where) => new Promise((resolve, reject) => {
      const headers = { 'content-type': 'application/x-www-form-urlencoded', 'content-length': 9 };
      const request = https.request(`https://localhost:${tls}/api/v2/${where}`, { method: 'POST', agent: false, headers }, (answer) => {
        let text = '';
        answer.on('data', (part) => { text += part; }).on('end', () => resolve({ status: answer.statusCode, json: () => JSON.parse(text) }));
      });
      request.on('error', reject).end('code=once');
    });
    const redeemed = async () => {
      const answer = await posted('token');
      assert.equal(answer.json().error, 'temporarily_unavailable', 'a program gets JSON');
      return answer.status;
    };

    const { command, args } = configured({ plain, tls, hubs: [one.port, other.port], probes: one.port });
    const stop = await start(`${name}-broken`, command, args, tls);
    t.after(stop);
    assert.equal(await redeemed(), 502);
    assert.equal(sent(), 1);
    // What changes nothing is sent again, to the other one; a revocation may carry an assertion, which is accepted once.
    for (const [where, repeated] of [['checktoken', true], ['token/revocation', false], ['par', false]]) {
      const before = sent();
      const answer = await posted(where);
      assert.deepEqual([answer.status, answer.json().error], [502, 'temporarily_unavailable'], where);
      assert.equal(sent() - before > 1, repeated, where);
    }
    await stop();

    const earlier = sent();
    const half = configured({ plain, tls, hubs: [unused, other.port], probes: one.port });
    t.after(await start(`${name}-half`, half.command, half.args, tls));
    for (const tries of [1, 2]) {
      assert.equal(await redeemed(), 502);
      assert.equal(sent(), earlier + tries, 'it got there, once');
    }
  });
}

for (const [name, configured] of Object.entries(PROXIES)) {
  test(`${name}: what a client says of its address and its certificate reaches no hub`, async (t) => {
    const [plain, tls] = await freePorts(2);
    let received;
    const hub = await startServer((request, response) => {
      if (request.url !== '/readyz') received = request.headers;
      response.end();
    });
    t.after(() => hub.close());
    const { command, args } = configured({ plain, tls, hubs: [hub.port], probes: hub.port });
    t.after(await start(`${name}-headers`, command, args, tls));
    const forged = { 'client-cert': ':AQID:', forwarded: 'for=192.0.2.66', 'x-forwarded-host': 'evil.example', 'x-forwarded-for': '192.0.2.66' };
    for (const where of ['/', '/api/v2/token', '/api/v2/checktoken', '/api/v2/userinfo']) {
      for (let tries = 0; (await fetch(`https://localhost:${tls}${where}`, { headers: forged })).status !== 200; tries += 1) assert.ok(tries < 200, where);
      for (const header of ['client-cert', 'forwarded', 'x-forwarded-host']) assert.equal(received[header] ?? '', '', `${where}: ${header}`);
      assert.equal(received['x-forwarded-for'], '127.0.0.1', where);
    }
  });
}
