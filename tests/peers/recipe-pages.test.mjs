// Every page of docs/recipes/: listed, tested by a file that is there, and its file for the hub accepted by `passerelle check`.
import assert from 'node:assert/strict';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { configure, freePorts, program, random, root } from './harness.mjs';
import { readRecipe, runProgram } from './recipes.mjs';
import { describeIdp, selfSigned } from './saml-idp.mjs';

const folder = path.join(root, 'docs/recipes');
const pages = readdirSync(folder).filter((name) => name !== 'README.md').map((name) => name.replace(/\.md$/, ''));
const readme = readFileSync(path.join(folder, 'README.md'), 'utf8');
const tests = readdirSync(path.join(root, 'tests/peers'));
/** The path of the hub's file that a page shows, and its id. */
const hubsFile = (name) => {
  const [, file, id] = readFileSync(path.join(folder, `${name}.md`), 'utf8').match(/^`((?:connectors|config\/service-providers)\/([\w-]+)\.toml)`:$/m);
  return { file, id, content: readRecipe(name).file(file) };
};
const [idps, sps, proxies] = ['idp-', 'sp-', 'proxy-'].map((kind) => pages.filter((name) => name.startsWith(kind)));

test('every recipe is in the index with its test, and says what it was tested with or that it was not run', () => {
  assert.equal(idps.length + sps.length + proxies.length, pages.length);
  for (const name of pages) {
    const line = readme.split('\n').find((row) => row.includes(`(${name}.md)`));
    assert.ok(line, `docs/recipes/README.md does not list ${name}`);
    const [, own] = line.match(/`(recipe-[\w-]+)`/);
    assert.ok(tests.includes(`${own}.test.mjs`), own);
    const page = readFileSync(path.join(folder, `${name}.md`), 'utf8');
    assert.ok(page.includes(`tests/peers/${own}.test.mjs`), `${name} names another test than the index`);
    assert.match(page, own === 'recipe-pages' ? /^\*\*Not run\*\*/m : /^Tested with \S+ ?\S* ?\d/m, name);
  }
});

test('every connector of a recipe passes the check, alone and in the hub that the index describes', async (t) => {
  const [port, privatePort] = await freePorts(2);
  const connectors = idps.map(hubsFile);
  const keys = selfSigned('idp');
  const saml = connectors.filter(({ content }) => content.includes('[kind.saml]'));
  const config = configure({
    port, privatePort, register: '', connectors: Object.fromEntries(connectors.map(({ id, content }) => [id, content])),
    sps: [], files: {
      ...Object.fromEntries(connectors.map(({ id }) => [`${id}.secret`, random(32)])),
      ...Object.fromEntries(saml.flatMap(({ id, content }) => [
        [`${id}.xml`, describeIdp(content.match(/^entity_id = "(.*)"$/m)[1], keys)], [`${id}.secret`, keys.key + keys.certificate],
      ])),
      'scopes.toml': readRecipe('README').file('scopes.toml'),
      ...Object.fromEntries(connectors.map(({ id }) => [`${id}-ca.pem`, readFileSync(path.join(root, 'tests/peers/recipes/ca.pem'), 'utf8')])),
      ...Object.fromEntries(sps.map(hubsFile).flatMap(({ id, content }) => [[`service-providers/${id}.toml`, content], [`${id}.secret`, random(32)]])),
    },
  });
  t.after(config.remove);
  // The settings are the index's own; only the folder of connectors is elsewhere.
  writeFileSync(path.join(config.folder, 'passerelle.toml'), `connectors = "connectors"\n${readRecipe('README').file('passerelle.toml')}`);
  for (const { id } of connectors) {
    const { status, out } = await runProgram(program, ['check', 'connector', path.join(config.folder, `connectors/${id}.toml`), '--config', config.folder, '--json']);
    assert.equal(status, 0, `${id}: ${out}`);
    assert.equal(JSON.parse(out).status, 'ok', id);
  }
  const whole = await runProgram(program, ['check', '--config', config.folder]);
  assert.equal(whole.status, 0, whole.out + whole.err);
  // The check does look: a broken file is found.
  writeFileSync(path.join(config.folder, 'connectors/google.toml'), readRecipe('idp-google').file('connectors/google.toml').replace('subject_claim', 'subject_clam'));
  assert.equal((await runProgram(program, ['check', 'connector', path.join(config.folder, 'connectors/google.toml'), '--config', config.folder])).status, 1);
});
