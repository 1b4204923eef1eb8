// docs/recipes/idp-keycloak.md, idp-keycloak-saml.md and sp-keycloak.md, by one Keycloak (`skipWithoutKeycloak`).
import assert from 'node:assert/strict';
import path from 'node:path';
import { after, before, test } from 'node:test';
import * as oidc from 'openid-client';
import { Browser, IDP_SECRET, freePorts, random } from './harness.mjs';
import {
  HUB, JANE, checkOnline, deleteHubCookies, allowLoopback, keycloakFolder, readRecipe, replaceAll, skipWithoutKeycloak, startHubForIdp, startHubForSp, startProduct, signInThroughHub, signOutThroughHub,
} from './recipes.mjs';
import { continueSaml, hubCertificate } from './saml-idp.mjs';

const ADMIN = { name: 'admin', password: random(16) };
const skip = skipWithoutKeycloak();

let keycloak, base, hubPorts;

/** Calls the administration, and returns what it answers. */
async function admin(method, address, body) {
  const token = await fetch(`${base}/realms/master/protocol/openid-connect/token`, {
    method: 'POST', body: new URLSearchParams({ grant_type: 'password', client_id: 'admin-cli', username: ADMIN.name, password: ADMIN.password }),
  }).then((response) => response.json());
  const response = await fetch(`${base}/admin/realms${address}`, {
    method, headers: { authorization: `Bearer ${token.access_token}`, 'content-type': 'application/json' }, body: JSON.stringify(body),
  });
  assert.ok(response.ok, `${method} ${address}: ${response.status} ${await response.clone().text()}`);
  return response;
}
const read = async (address) => (await admin('GET', address)).json();

before(async () => {
  if (skip) return;
  const program = path.join(await keycloakFolder(), 'bin/kc.sh');
  const [port, managementPort, ...rest] = await freePorts(4);
  hubPorts = rest;
  base = `http://localhost:${port}`;
  keycloak = await startProduct('keycloak', 'bash', [
    program, 'start-dev', '--db=dev-mem', '--http-host=127.0.0.1', `--http-port=${port}`, `--http-management-port=${managementPort}`, '--cache=local',
  ], {
    ready: `${base}/realms/master/.well-known/openid-configuration`, seconds: 300,
    env: { ...process.env, KC_BOOTSTRAP_ADMIN_USERNAME: ADMIN.name, KC_BOOTSTRAP_ADMIN_PASSWORD: ADMIN.password },
  });
}, { timeout: 900_000 });
after(() => keycloak?.stop());

test('a person of Keycloak signs in and out with the files of its recipe', { skip }, async (t) => {
  const page = readRecipe('idp-keycloak');
  const secret = IDP_SECRET;
  const [port, privatePort] = hubPorts;
  const client = replaceAll(page.file('passerelle-client.json'), { [HUB]: `http://localhost:${port}`, 'THE-SECRET': secret });
  await admin('POST', '', {
    realm: 'staff', enabled: true,
    users: [{ username: 'jane', enabled: true, email: 'jane@example.org', emailVerified: true, firstName: 'Jane', lastName: 'Doe', credentials: [{ type: 'password', value: 'the-password' }] }],
  });
  await admin('POST', '/staff/clients', JSON.parse(client));
  const hub = await startHubForIdp('hub-recipe-keycloak', {
    ports: [port, privatePort], files: { 'keycloak.secret': secret },
    connectors: { keycloak: allowLoopback(replaceAll(page.file('connectors/keycloak.toml'), { 'https://keycloak.example.org': base })) },
  });
  t.after(hub.stop);
  const authenticate = (browser, login, stopAt) => browser.submit(login, { values: { username: 'jane', password: 'the-password' }, stopAt });
  const browser = new Browser();
  const { claims, person, idToken } = await hub.signIn('keycloak', authenticate, { browser });
  assert.deepEqual([person.name, person.preferred_username, person.email, person.email_verified], ['Jane Doe', 'jane', 'jane@example.org', true]);
  assert.deepEqual(claims.amr.toSorted(), ['hub', 'pwd']);
  const again = await hub.signIn('keycloak', authenticate, { browser, more: { prompt: 'login' } });
  assert.deepEqual([again.asked, again.claims.sub], [true, claims.sub]);
  // Keycloak's own session answers, with another acr.
  deleteHubCookies(browser);
  const later = await hub.signIn('keycloak', authenticate, { browser });
  assert.deepEqual([later.asked, later.claims.sub, later.claims.auth_time], [false, claims.sub, again.claims.auth_time]);
  // A logout at Keycloak ends the hub's session: Keycloak sends its logout token before it answers.
  const silently = { browser, more: { prompt: 'none' } };
  assert.equal((await hub.signIn('keycloak', authenticate, silently)).claims.sub, claims.sub);
  const [{ id }] = await read('/staff/users?username=jane');
  await admin('POST', `/staff/users/${id}/logout`);
  await assert.rejects(hub.signIn('keycloak', authenticate, silently), { error: 'login_required' });
  await hub.signIn('keycloak', authenticate, { browser });
  const out = await browser.open(hub.signOutUrl(idToken), { stopAt: hub.postLogoutUri });
  assert.ok(out.url.startsWith(hub.postLogoutUri), `${out.status} ${out.url}\n${out.html}`);
});

test('Keycloak demands FAPI 2.0 with DPoP and message signing of the hub, by its own client policy', { skip }, async (t) => {
  await admin('POST', '', {
    realm: 'fapi', enabled: true,
    users: [{ username: 'jane', enabled: true, email: 'jane@example.org', emailVerified: true, firstName: 'Jane', lastName: 'Doe', credentials: [{ type: 'password', value: 'the-password' }] }],
  });
  const { globalProfiles } = await read('/fapi/client-policies/profiles?include-global-profiles=true');
  const profile = globalProfiles.find(({ name }) => name === 'fapi-2-dpop-message-signing');
  // Its rules, except that a test's hub has an address with http; and the code is bound to the key, which is optional there.
  const executors = profile.executors.filter(({ executor }) => executor !== 'secure-client-uris').map(({ executor, configuration }) => (executor === 'dpop-bind-enforcer'
    ? { executor, configuration: { ...configuration, 'enforce-authorization-code-binding-to-dpop': 'true' } } : { executor, configuration }));
  await admin('PUT', '/fapi/client-policies/profiles', { profiles: [{ name: 'loopback', executors }] });
  const policy = { name: 'everyone', enabled: true, conditions: [{ condition: 'any-client', configuration: {} }], profiles: ['loopback'] };
  const [port, privatePort] = await freePorts(2);
  await admin('POST', '/fapi/clients', {
    clientId: 'passerelle', protocol: 'openid-connect', clientAuthenticatorType: 'client-jwt', redirectUris: [`http://localhost:${port}/api/v2/callback/keycloak`],
    publicClient: false, standardFlowEnabled: true, fullScopeAllowed: false, consentRequired: true,
    attributes: {
      'use.jwks.url': 'true', 'jwks.url': `http://localhost:${port}/api/v2/client/jwks`, 'token.endpoint.auth.signing.alg': 'ES256',
      'pkce.code.challenge.method': 'S256', 'require.pushed.authorization.requests': 'true', 'dpop.bound.access.tokens': 'true',
      'request.object.signature.alg': 'ES256', 'request.object.required': 'request or request_uri', 'id.token.signed.response.alg': 'ES256',
      'access.token.signed.response.alg': 'ES256', 'user.info.response.signature.alg': 'ES256', 'authorization.signed.response.alg': 'ES256',
      'authorization.encrypted.response.alg': 'ECDH-ES', 'authorization.encrypted.response.enc': 'A256GCM',
      // Otherwise its signed responses have the member iss twice (RFC 7519, 4), which the hub refuses.
      'exclude.issuer.from.auth.response': 'true',
    },
  });
  await admin('PUT', '/fapi/client-policies/policies', { policies: [policy] });
  const hub = await startHubForIdp('hub-keycloak-fapi2', {
    ports: [port, privatePort], files: {},
    connectors: {
      keycloak: allowLoopback(`name = { en = "Keycloak" }
identity = "verified"
levels = { lowest = "eidas1", highest = "eidas1" }
assumed_level = "eidas1"
ignore_acr = true
amr = ["pwd"]
[kind.oidc]
issuer = "${base}/realms/fapi"
client_id = "passerelle"
scopes = ["openid", "profile", "email"]
fapi2 = true
token_endpoint_auth_method = "private_key_jwt"
pushed_authorization_requests = "on"
request_objects = "on"
dpop = "on"
authorization_signed_response_alg = "ES256"
authorization_encrypted_response_alg = "ECDH-ES"
userinfo_signed_response_alg = "ES256"
`),
    },
  });
  t.after(hub.stop);
  const authenticate = async (browser, login, stopAt) => {
    const next = await browser.submit(login, { values: { username: 'jane', password: 'the-password' }, stopAt });
    return next.stopped ? next : browser.submit(next, { button: 'accept', stopAt });
  };
  for (const browser of [new Browser(), new Browser()]) {
    const { person } = await hub.signIn('keycloak', authenticate, { browser });
    assert.deepEqual([person.name, person.preferred_username, person.email], ['Jane Doe', 'jane', 'jane@example.org']);
  }
});

test('a person of Keycloak signs in and out by SAML with the files of its recipe', { skip }, async (t) => {
  const page = readRecipe('idp-keycloak-saml');
  const [port, privatePort] = await freePorts(2);
  await admin('POST', '', {
    realm: 'saml', enabled: true,
    users: [{ username: 'jane', enabled: true, email: 'jane@example.org', emailVerified: true, firstName: 'Jane', lastName: 'Doe', credentials: [{ type: 'password', value: 'the-password' }] }],
  });
  const descriptor = await fetch(`${base}/realms/saml/protocol/saml/descriptor`).then((response) => response.text());
  const hub = await startHubForIdp('hub-recipe-keycloak-saml', {
    ports: [port, privatePort], files: { 'keycloak-saml.xml': descriptor },
    connectors: { 'keycloak-saml': allowLoopback(replaceAll(page.file('connectors/keycloak-saml.toml'), { 'https://keycloak.example.org/realms/staff': `${base}/realms/saml` })) },
  });
  t.after(hub.stop);
  const client = replaceAll(page.file('passerelle-client.json'), {
    [HUB]: hub.base, 'THE-SIGNING-CERTIFICATE': await hubCertificate(hub, 'keycloak-saml'), 'THE-ENCRYPTION-CERTIFICATE': await hubCertificate(hub, 'keycloak-saml', 'encryption'),
  });
  await admin('POST', '/saml/clients', JSON.parse(client));
  await checkOnline(hub, 'keycloak-saml');
  let asked;
  const authenticate = async (browser, login, stopAt) => {
    asked = login.html.includes('name="password"');
    return continueSaml(browser, asked ? await browser.submit(login, { values: { username: 'jane', password: 'the-password' } }) : login, stopAt);
  };
  const browser = new Browser();
  const { claims, person } = await hub.signIn('keycloak-saml', authenticate, { browser });
  assert.deepEqual([person.name, person.given_name, person.email], ['Jane Doe', 'Jane', 'jane@example.org']);
  const again = await hub.signIn('keycloak-saml', authenticate, { browser, more: { prompt: 'login' } });
  assert.deepEqual([asked, again.claims.sub], [true, claims.sub]);
  deleteHubCookies(browser);
  const later = await hub.signIn('keycloak-saml', authenticate, { browser });
  assert.deepEqual([asked, later.claims.sub], [false, claims.sub]);
  // A logout at the hub ends Keycloak's session, too.
  const out = await browser.open(hub.signOutUrl(later.idToken), { stopAt: hub.postLogoutUri });
  assert.ok(out.url.startsWith(hub.postLogoutUri), `${out.status} ${out.url}\n${out.html}`);
  await hub.signIn('keycloak-saml', authenticate, { browser });
  assert.equal(asked, true);
});

test('Keycloak as a broker signs a person in with the files of its recipe', { skip }, async (t) => {
  const page = readRecipe('sp-keycloak');
  const secret = random(32);
  const hub = await startHubForSp('hub-recipe-keycloak-broker', {
    files: {
      'service-providers/keycloak-broker.toml': replaceAll(page.file('config/service-providers/keycloak-broker.toml'), { 'https://keycloak.example.org': base }),
      'keycloak-broker.secret': secret,
    },
  });
  t.after(hub.stop);
  const redirect_uri = 'http://localhost:1/callback';
  const attributes = { 'post.logout.redirect.uris': '+' };
  await admin('POST', '', { realm: 'portal', enabled: true, clients: [{ clientId: 'app', publicClient: true, redirectUris: [redirect_uri], attributes }] });
  const provider = JSON.parse(replaceAll(page.file('identity-provider.json'), { [HUB]: hub.base, 'THE-SECRET': secret }));
  await admin('POST', '/portal/identity-provider/instances', provider);
  const client = await oidc.discovery(new URL(`${base}/realms/portal`), 'app', undefined, oidc.None(), { execute: [oidc.allowInsecureRequests] });
  const browser = new Browser();
  /** Signs in at Keycloak. Fails unless the hub shows its choice page. */
  const enter = async () => {
    const verifier = oidc.randomPKCECodeVerifier();
    const url = oidc.buildAuthorizationUrl(client, {
      redirect_uri, scope: 'openid profile email', kc_idp_hint: 'passerelle', code_challenge: await oidc.calculatePKCECodeChallenge(verifier), code_challenge_method: 'S256',
    });
    const page = await browser.open(url.href, { stopAt: redirect_uri });
    assert.ok(!page.stopped, page.url);
    const back = await signInThroughHub(browser, page, redirect_uri);
    assert.ok(back.stopped, `${back.status} ${back.url}\n${back.html}\n${keycloak.output()}`);
    return oidc.authorizationCodeGrant(client, new URL(back.url), { pkceCodeVerifier: verifier });
  };
  const signOutUrl = (tokens) => oidc.buildEndSessionUrl(client, { id_token_hint: tokens.id_token, post_logout_redirect_uri: redirect_uri }).href;

  const first = await enter();
  const person = first.claims();
  for (const [name, value] of Object.entries({ email: JANE.email, preferred_username: JANE.preferred_username, given_name: 'Jane', family_name: 'Doe' })) {
    assert.equal(person[name], value);
  }
  // A logout at Keycloak ends the session at the hub.
  const out = await signOutThroughHub(browser, signOutUrl(first), redirect_uri);
  assert.ok(out.stopped, `${out.url}\n${out.html}`);
  await enter();
});
