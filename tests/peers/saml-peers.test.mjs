// SAML software that no recipe is about, each with its own XML signatures: identity providers by pysaml2 (xmlsec1) and crewjam/saml (Go), pyFF as
// MDQ server, and the responses of spid-sp-test.
import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { Browser, artifacts, freePorts, includesAll, readText, root, skipUnlessAll, tomlString, waitUntil } from './harness.mjs';
import { allowLoopback, checkOnline, createFolder, findProgram, goEnv, productCache, productPython, readRecipe, runProgram, runSuccessfully, skipWithout, skipWithoutGo, skipWithoutPython, startHubForIdp, startProduct } from './recipes.mjs';
import { PASSWORD, continueSaml, hubMetadata, selfSigned } from './saml-idp.mjs';

const recipes = path.join(root, 'tests/peers/recipes');
const textOf = async (address) => {
  const response = await fetch(address);
  const text = await response.text();
  assert.equal(response.status, 200, `${address}: ${text}`);
  return text;
};
const connector = (entityId, lines) => allowLoopback(`name = { en = "University", fr = "Universit\u00e9" }
levels = { lowest = "eidas1", highest = "eidas1" }
acr = { eidas1 = [${tomlString(PASSWORD)}], send = false }
[kind.saml]
entity_id = ${tomlString(entityId)}
${lines}
`);

/** Starts pysaml2's identity provider in a folder with its key. Write the hub's metadata to `sp` before the first request. */
async function startPysaml2(t, port) {
  const base = `http://localhost:${port}`;
  const { key, certificate } = selfSigned('idp');
  const { folder, remove } = createFolder({ 'key.pem': key, 'crt.pem': certificate });
  t.after(remove);
  const sp = path.join(folder, 'sp.xml');
  const product = await startProduct(`pysaml2-${port}`, productPython('pysaml2'), [path.join(recipes, 'pysaml2/idp.py'), String(port), path.join(folder, 'key.pem'), path.join(folder, 'crt.pem'), sp], { ready: `${base}/metadata` });
  t.after(product.stop);
  return { base, entityId: `${base}/metadata`, sp, metadata: await textOf(`${base}/metadata`), output: product.output };
}
const skipPysaml2 = skipWithoutPython('pysaml2') || skipWithout('xmlsec1', 'apt-get install xmlsec1.');

/** pysaml2 releases what is requested, and nothing else. */
const REQUESTED = `service_name = { en = "Portal", fr = "Portail" }
requested_attributes = [
  { name = "urn:oid:2.16.840.1.113730.3.1.241", name_format = "urn:oasis:names:tc:SAML:2.0:attrname-format:uri", required = true },
  { name = "urn:oid:0.9.2342.19200300.100.1.3", name_format = "urn:oasis:names:tc:SAML:2.0:attrname-format:uri" },
]
organization = { name = { en = "Town & Country", fr = "Ville & Campagne" }, url = { en = "https://town.example.org" } }
contacts = [{ type = "technical", given_name = "Angela", surname = "Dubois", email = "mailto:saml@town.example.org", telephone = "+33123456789" }]`;

test('a person of pysaml2 signs in and out, and it releases the attributes that the hub\u2019s metadata requests', { skip: skipPysaml2 }, async (t) => {
  const [port, privatePort, idpPort] = await freePorts(3);
  const idp = await startPysaml2(t, idpPort);
  const hub = await startHubForIdp('hub-pysaml2', {
    ports: [port, privatePort], files: { 'pysaml2.xml': idp.metadata }, connectors: { pysaml2: connector(idp.entityId, `metadata_file = "pysaml2.xml"\n${REQUESTED}`) },
  });
  t.after(hub.stop);
  writeFileSync(idp.sp, await hubMetadata(hub, 'pysaml2'));
  await checkOnline(hub, 'pysaml2');
  const browser = new Browser();
  const { claims, person, idToken } = await hub.signIn('pysaml2', continueSaml, { browser });
  assert.deepEqual([person.name, person.given_name, person.family_name, person.email], ['Jane Doe', undefined, undefined, 'jane@example.org']);
  assert.match(idp.output(), /^service Ville & Campagne, technical Angela Dubois mailto:saml@town\.example\.org \+33123456789$/m);
  const again = await hub.signIn('pysaml2', continueSaml, { browser, more: { prompt: 'login' } });
  assert.equal(again.claims.sub, claims.sub);
  const out = await browser.open(hub.signOutUrl(idToken), { stopAt: hub.postLogoutUri });
  assert.ok(out.url.startsWith(hub.postLogoutUri), `${out.status} ${out.url}\n${readText(out.html)}`);
  assert.match(idp.output(), /^logout pysaml2-jane$/m);
});

test('a person of crewjam/saml signs in', { skip: includesAll ? skipWithoutGo() : skipUnlessAll }, async (t) => {
  const [port, privatePort, idpPort] = await freePorts(3);
  const base = `http://localhost:${idpPort}`;
  const folder = path.join(productCache, 'crewjam-saml');
  mkdirSync(folder, { recursive: true });
  for (const name of ['go.mod', 'go.sum', 'main.go']) copyFileSync(path.join(recipes, 'crewjam-saml', name), path.join(folder, name));
  await runSuccessfully(findProgram('go'), ['build', '-buildvcs=false', '-o', 'idp', '.'], { cwd: folder, env: goEnv });
  const { key, certificate } = selfSigned('idp');
  const keys = createFolder({ 'key.pem': key, 'crt.pem': certificate });
  t.after(keys.remove);
  const idp = await startProduct('crewjam-saml', path.join(folder, 'idp'), [base, path.join(keys.folder, 'key.pem'), path.join(keys.folder, 'crt.pem')], { ready: `${base}/metadata` });
  t.after(idp.stop);
  // It encrypts by AES-CBC alone, gives a person another NameID at each login, and names no scope, so that its scoped attributes are left out.
  const lines = 'metadata_file = "crewjam.xml"\nallow_cbc = true\nsubject_attribute = "urn:oid:0.9.2342.19200300.100.1.1"';
  const metadata = await textOf(`${base}/metadata`);
  const hub = await startHubForIdp('hub-crewjam', { ports: [port, privatePort], files: { 'crewjam.xml': metadata }, connectors: { crewjam: connector(`${base}/metadata`, lines) } });
  t.after(hub.stop);
  const registered = await fetch(`${base}/services/hub`, { method: 'PUT', body: await hubMetadata(hub, 'crewjam') });
  assert.ok(registered.ok, `${registered.status}`);
  const authenticate = async (browser, page, stopAt) => {
    const next = page.html.includes('name="password"') ? await browser.submit(page, { values: { user: 'jane', password: 'the-password' } }) : page;
    return continueSaml(browser, next, stopAt);
  };
  const browser = new Browser();
  const { claims, person } = await hub.signIn('crewjam', authenticate, { browser });
  assert.deepEqual([person.given_name, person.family_name, person.email], ['Jane', 'Doe', 'jane@example.org']);
  assert.equal((await hub.signIn('crewjam', authenticate)).claims.sub, claims.sub);
});

test('a person signs in by the metadata of an MDQ server (pyFF), and not by metadata that another key signed', { skip: skipPysaml2 || skipWithoutPython('pyff') }, async (t) => {
  const [port, privatePort, idpPort, otherPort, mdqPort] = await freePorts(5);
  const idp = await startPysaml2(t, idpPort);
  const { key, certificate } = selfSigned('federation');
  const stranger = selfSigned('stranger');
  const mdq = createFolder({
    'metadata/idp.xml': idp.metadata, 'metadata/other.xml': idp.metadata.replaceAll(`:${idpPort}`, `:${otherPort}`), 'key.pem': key, 'crt.pem': certificate,
  });
  t.after(mdq.remove);
  writeFileSync(path.join(mdq.folder, 'pipeline.fd'), `- when update:
    - load:
        - ${mdq.folder}/metadata
- when request:
    - select
    - pipe:
        - when accept application/samlmetadata+xml application/xml:
            - finalize:
                cacheDuration: PT1H
                validUntil: P7D
            - sign:
                key: ${mdq.folder}/key.pem
                cert: ${mdq.folder}/crt.pem
            - emit application/samlmetadata+xml
            - break
`);
  const base = `http://localhost:${mdqPort}`;
  const server = await startProduct('pyff', path.join(path.dirname(productPython('pyff')), 'pyffd'), ['-f', '-H', '127.0.0.1', '-P', String(mdqPort), path.join(mdq.folder, 'pipeline.fd')], { ready: `${base}/api/status`, cwd: mdq.folder });
  t.after(server.stop);
  // It answers before it has read the metadata, and keeps each answer: so each attempt has another address.
  let attempts = 0;
  await waitUntil(async () => {
    const response = await fetch(`${base}/entities/${encodeURIComponent(idp.entityId)}?${attempts += 1}`, { headers: { accept: 'application/samlmetadata+xml' } });
    return (await response.text()).includes(`entityID="${idp.entityId}"`);
  }, 'reading the metadata');
  const lines = (signer) => `metadata_query_url = "${base}"\nmetadata_signers = "${signer}.pem"`;
  const hub = await startHubForIdp('hub-pyff', {
    ports: [port, privatePort], files: { 'federation.pem': certificate, 'stranger.pem': stranger.certificate },
    connectors: { university: connector(idp.entityId, lines('federation')), forged: connector(idp.entityId, lines('stranger')) },
  });
  t.after(hub.stop);
  writeFileSync(idp.sp, await hubMetadata(hub, 'university'));
  await checkOnline(hub, 'university');
  const { person } = await hub.signIn('university', continueSaml);
  assert.equal(person.email, 'jane@example.org');
  await assert.rejects(hub.signIn('forged', continueSaml), /no return to the service|no such form/);
});

/** What spid-sp-test demands of responses beyond SAML 2.0. */
const SPID_ONLY = [
  'Test [3]', // a signed response with an unsigned assertion
  'Test [44]', 'Test [45]', 'Test [46]', 'Test [47]', 'Test [48]', 'Test [49]', // the NameID, of which the file's subject_attribute makes nothing depend
  'Test [71]', // an issuer without a format, which means an entity
  'Test [76]', // conditions without NotBefore
];

test('spid-sp-test: the hub\u2019s metadata and request are right, and it refuses the forged responses', { skip: skipWithoutPython('spid-sp-test') || skipWithout('xmlsec1', 'apt-get install xmlsec1.') }, async (t) => {
  const python = productPython('spid-sp-test');
  const program = path.join(path.dirname(python), 'spid_sp_test');
  const { out: metadata } = await runProgram(python, [program, '--idp-metadata']);
  const entityId = metadata.match(/entityID="([^"]+)"/)[1];
  const [port, privatePort] = await freePorts(2);
  const { key, certificate } = selfSigned('hub');
  const file = readRecipe('idp-spid').file('connectors/spid.toml').replace(/^entity_id = .*$/m, `entity_id = ${tomlString(entityId)}`);
  const hub = await startHubForIdp('hub-spid', { ports: [port, privatePort], files: { 'spid.xml': metadata, 'spid.secret': key + certificate }, connectors: { spid: allowLoopback(file) } });
  t.after(hub.stop);
  const url = hub.authorizationUrl({ idp_hint: 'spid' });
  const report = path.join(artifacts, 'spid-sp-test.json');
  const { out, err } = await runProgram(python, [
    program, '--metadata-url', `${hub.base}/connectors/spid/saml/metadata`, '--authn-url', url, '--authn-plugin', 'hub.Hub', '--profile', 'spid-sp-public', '--extra', '-tr',
    '-rf', 'json', '-o', report, '--exit-zero', '-d', 'ERROR',
  ], { env: { ...process.env, PYTHONPATH: path.join(recipes, 'spid-sp-test'), RETURN: `${hub.base}/sp/` }, cwd: artifacts });
  const results = [];
  const walk = (node) => (node.result ? results.push(node) : Object.values(node).forEach(walk));
  walk(JSON.parse(readFileSync(report, 'utf8')).test);
  const failed = results.filter(({ result }) => result !== 'success').map(({ test: text, test_id: id }) => text.match(/^Test \[(\d+)\]/)?.[0] ?? text.split('\n')[0] ?? id);
  assert.ok(results.length > 200, `${results.length} results\n${out}\n${err}`);
  assert.deepEqual(failed.toSorted(), SPID_ONLY.toSorted());
});
