// A real SAML 2.0 identity provider (samlify) as the hub's upstream: login, levels, encryption, logout in both directions, and responses that
// a browser must not be able to use.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Browser, freePorts, parseForms, readText, tomlString } from './harness.mjs';
import { allowLoopback, checkOnline, startHubForIdp } from './recipes.mjs';
import { PASSWORD, REFEDS_MFA, continueSaml, hubMetadata, startSamlIdp } from './saml-idp.mjs';

/** Each identity provider of the hub, by its options. */
const PROVIDERS = {
  saml: { edit: (xml) => edit(xml) },
  'saml-response': { signs: 'response' },
  'saml-both': { signs: 'both', wantsSignedRequests: false },
  'saml-encrypted': { isEncrypted: true },
  'saml-encrypted-both': { isEncrypted: true, signs: 'both' },
};
/** The error code of each group of rules (docs/errors.md). */
const CODES = { malformed: /Y020601/, signature: /Y020602/, otherRequest: /Y020604/, time: /Y020605/, content: /Y020606/ };
const unchanged = (xml) => xml;
let edit = unchanged;
let hub, hubPorts;
const idps = {};

const connector = (idp, extra = '') => allowLoopback(`name = { en = "University", fr = "Université" }
levels = { lowest = "eidas1", highest = "eidas1" }
mfa = ["pwd", "otp"]
acr = { eidas1 = [${tomlString(PASSWORD)}, ${tomlString(REFEDS_MFA)}] }

[kind.saml]
entity_id = ${tomlString(idp.entityId)}
metadata_file = "${idp.name}.xml"
${extra}
`);

before(async () => {
  const [port, privatePort, ...ports] = await freePorts(2 + Object.keys(PROVIDERS).length);
  hubPorts = [port, privatePort];
  const [connectors, files] = [{}, {}];
  for (const [name, options] of Object.entries(PROVIDERS)) {
    idps[name] = Object.assign(await startSamlIdp({ port: ports.shift(), ...options }), { name });
    connectors[name] = connector(idps[name], name === 'saml-both' ? 'request_binding = "post"' : '');
    files[`${name}.xml`] = idps[name].metadata();
  }
  hub = await startHubForIdp('hub-saml', { ports: hubPorts, connectors, files });
  for (const [name, idp] of Object.entries(idps)) idp.trust(await hubMetadata(hub, name));
});
after(async () => {
  await hub?.stop();
  for (const idp of Object.values(idps)) await idp.close();
});

const isResponse = (form) => form.fields.some(([name]) => name === 'SAMLResponse');
/** Fills in the login page. Returns the page that posts the response. */
async function enter(browser, page, { login = 'jane', acr = '' } = {}) {
  const form = page.html.includes('name="SAMLRequest"') ? await continueSaml(browser, page) : page;
  return browser.submit(form, { values: { login, password: 'any', class: acr } });
}
const authenticate = (options) => async (browser, page, stopAt) => continueSaml(browser, await enter(browser, page, options), stopAt);
const signIn = (name, options = {}, more = {}) => hub.signIn(name, authenticate(options), more);

for (const name of Object.keys(PROVIDERS)) {
  test(`a person of ${name} signs in and out, and is the same one again`, async () => {
    await checkOnline(hub, name);
    const browser = new Browser();
    const { claims, person, idToken } = await signIn(name, {}, { browser });
    assert.deepEqual([person.name, person.given_name, person.family_name, person.email], ['Jane Doe', 'Jane', 'Doe', 'jane@example.org']);
    assert.deepEqual([claims.acr, claims.amr.toSorted()], ['eidas1', ['hub', 'pwd']]);
    const again = await signIn(name, {}, { browser, more: { prompt: 'login' } });
    assert.deepEqual([again.asked, again.claims.sub], [true, claims.sub]);
    const [first, second] = idps[name].requests;
    assert.doesNotMatch(first, /ForceAuthn/);
    assert.match(second, /ForceAuthn="true"/);
    const out = await browser.open(hub.signOutUrl(idToken), { stopAt: hub.postLogoutUri });
    assert.ok(out.url.startsWith(hub.postLogoutUri), `${out.status} ${out.url}\n${readText(out.html)}`);
    assert.match(idps[name].logouts.at(-1).request, /<saml:NameID[^>]*>saml-jane<\/saml:NameID>/);
    assert.equal(idps[name].sessions.has('saml-jane'), false);
    assert.deepEqual(idps[name].faults, []);
    const other = await signIn(name, { login: 'guy' });
    assert.deepEqual([other.person.name, other.person.family_name], ['Guy & <Guest>', 'Gu\u00e9st']);
    assert.notEqual(other.claims.sub, claims.sub);
  });
}

test('the level and the methods come from the class of the authentication, and an unlisted class is refused', async () => {
  const { claims } = await signIn('saml', { acr: REFEDS_MFA });
  assert.deepEqual([claims.acr, claims.amr.toSorted()], ['eidas1', ['hub', 'mfa']]);
  assert.match(idps.saml.requests.at(-1), new RegExp(`AuthnContextClassRef>${PASSWORD}<`));
  await assert.rejects(signIn('saml', { acr: 'urn:oasis:names:tc:SAML:2.0:ac:classes:unspecified' }), /no return to the service/);
});

test('a logout at the identity provider ends the session at the hub', async () => {
  const browser = new Browser();
  const { claims } = await signIn('saml', {}, { browser });
  const silently = { browser, more: { prompt: 'none' } };
  assert.equal((await signIn('saml', {}, silently)).claims.sub, claims.sub);
  const page = await browser.open(idps.saml.logoutUrl('jane'));
  assert.equal(readText(page.html), 'Signed out Signed out');
  assert.match(idps.saml.logouts.at(-1).response, /status:Success/);
  await assert.rejects(signIn('saml', {}, silently), { error: 'login_required' });
});

/** Begins a login, and returns the page by which the identity provider's response is posted. */
async function beginLogin(browser) {
  let response;
  const keep = async (_, page) => { response = await enter(browser, page); return { ...page, stopped: false }; };
  await assert.rejects(hub.signIn('saml', keep, { browser, more: { prompt: 'login' } }), /no return to the service/);
  return response;
}

/** Fails unless a page of the hub says with this code why the login did not continue. */
function assertRefused(page, code) {
  assert.ok(!page.stopped, page.url);
  assert.match(readText(page.html), code, `${page.status} ${page.url}`);
}

test('a response is accepted once', async () => {
  const browser = new Browser();
  let response;
  await hub.signIn('saml', async (_, page, stopAt) => { response = await enter(browser, page); return continueSaml(browser, response, stopAt); }, { browser });
  assertRefused(await continueSaml(browser, response), /Y\d{6}/);
  // In a login of its own, whose request it does not answer.
  const { SAMLResponse } = Object.fromEntries(parseForms(response.html, response.url).find(isResponse).fields);
  assertRefused(await browser.submit(await beginLogin(browser), { pick: isResponse, values: { SAMLResponse } }), CODES.otherRequest);
});

test('a response in another browser than the one that asked is refused', async () => {
  const response = await beginLogin(new Browser());
  assertRefused(await continueSaml(new Browser(), response), /Y\d{6}/);
});

test('a response without a login is refused', async () => {
  const browser = new Browser();
  const response = await beginLogin(browser);
  assertRefused(await browser.submit(response, { pick: isResponse, values: { RelayState: 'x'.repeat(43) } }), /Y\d{6}/);
  const form = parseForms(response.html, response.url).find(isResponse);
  const fields = new URLSearchParams(form.fields.filter(([name]) => name !== 'RelayState'));
  assertRefused(await browser.open(form.action, { method: 'POST', body: fields }), CODES.malformed);
});

for (const [attack, [change, code]] of Object.entries({
  'for another audience': [(xml) => xml.replace(/<saml:Audience>[^<]*/, '<saml:Audience>https://other.example/sp'), 'otherRequest'],
  'for another recipient': [(xml) => xml.replace(/Recipient="[^"]*"/, 'Recipient="https://other.example/acs"'), 'otherRequest'],
  'of another request': [(xml) => xml.replace(/InResponseTo="[^"]*"/g, 'InResponseTo="_other"'), 'otherRequest'],
  'of another entity': [(xml) => xml.replace(/<saml:Issuer>[^<]*/g, '<saml:Issuer>https://other.example/idp'), 'otherRequest'],
  'without conditions': [(xml) => xml.replace(/<saml:Conditions .*<\/saml:Conditions>/, ''), 'content'],
  'that has expired': [(xml) => xml.replace(/NotOnOrAfter="[^"]*"/g, 'NotOnOrAfter="2020-01-01T00:00:00Z"'), 'time'],
})) {
  test(`a response ${attack} is refused although its signature is right`, async (t) => {
    edit = (xml) => { const changed = change(xml); assert.notEqual(changed, xml); return changed; };
    t.after(() => { edit = unchanged; });
    const browser = new Browser();
    assertRefused(await continueSaml(browser, await beginLogin(browser), `${hub.base}/sp/`), CODES[code]);
  });
}

test('a response that was changed after it was signed is refused', async () => {
  const browser = new Browser();
  const response = await beginLogin(browser);
  const { SAMLResponse } = Object.fromEntries(parseForms(response.html, response.url).find(isResponse).fields);
  const forged = Buffer.from(SAMLResponse, 'base64').toString().replace('saml-jane', 'saml-guy');
  assertRefused(await browser.submit(response, { pick: isResponse, values: { SAMLResponse: Buffer.from(forged).toString('base64') } }), CODES.signature);
});
