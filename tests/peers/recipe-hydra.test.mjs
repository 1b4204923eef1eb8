// docs/recipes/idp-hydra.md. The login application that Hydra needs is a few lines here: it accepts what the page's bodies say.
import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { Browser, IDP_SECRET, freePorts, random, startServer } from './harness.mjs';
import { HUB, findProgram, createFolder, allowLoopback, readRecipe, replaceAll, startHubForIdp, startProduct, skipWithout } from './recipes.mjs';

/** Asks for a name, and accepts every consent and logout. */
async function startLoginApplication(page, adminUrl) {
  const accept = async (what, challenge, body) => {
    const response = await fetch(`${adminUrl()}/admin/oauth2/auth/requests/${what}/accept?${what}_challenge=${challenge}`, {
      method: 'PUT', headers: { 'content-type': 'application/json' }, body,
    });
    const answer = await response.json();
    assert.ok(response.ok, JSON.stringify(answer));
    return answer.redirect_to;
  };
  const server = await startServer(async (request, response) => {
    const url = new URL(request.url, 'http://localhost');
    const what = url.pathname.slice(1);
    const challenge = url.searchParams.get(`${what}_challenge`);
    if (what === 'login' && request.method === 'GET') {
      return response.writeHead(200, { 'content-type': 'text/html' }).end(`<form method="post" action="/login?login_challenge=${encodeURIComponent(challenge)}"><input name="user"><button>Sign in</button></form>`);
    }
    const body = { login: () => page.file('login-accept.json'), consent: () => page.file('consent-accept.json'), logout: () => undefined }[what]?.();
    return response.writeHead(302, { location: await accept(what, encodeURIComponent(challenge), body) }).end();
  });
  return { base: `http://localhost:${server.port}`, close: server.close };
}

test('a person of Hydra signs in and out with the files of its recipe', { skip: skipWithout('hydra', 'Build or take a release of Ory Hydra.') }, async (t) => {
  const page = readRecipe('idp-hydra');
  const [port, privatePort, hydraPort, adminPort] = await freePorts(4);
  const issuer = `http://localhost:${hydraPort}`;
  const admin = `http://127.0.0.1:${adminPort}`;
  const secret = IDP_SECRET;
  const login = await startLoginApplication(page, () => admin);
  t.after(login.close);
  const { folder, remove } = createFolder({
    'hydra.yml': `dsn: memory
serve:
  public: { host: 127.0.0.1, port: ${hydraPort} }
  admin: { host: 127.0.0.1, port: ${adminPort} }
urls:
  self: { issuer: "${issuer}" }
  login: ${login.base}/login
  consent: ${login.base}/consent
  logout: ${login.base}/logout
secrets: { system: [${random(32)}] }
sqa: { opt_out: true }
`,
  });
  t.after(remove);
  const hydra = await startProduct('hydra', findProgram('hydra'), ['serve', 'all', '--dev', '-c', path.join(folder, 'hydra.yml')], { ready: `${admin}/health/ready` });
  t.after(hydra.stop);
  const registered = await fetch(`${admin}/admin/clients`, {
    method: 'POST', headers: { 'content-type': 'application/json' },
    body: replaceAll(page.file('passerelle-client.json'), { [HUB]: `http://localhost:${port}`, 'THE-SECRET': secret }),
  });
  assert.equal(registered.status, 201, await registered.text());
  const hub = await startHubForIdp('hub-recipe-hydra', {
    ports: [port, privatePort], files: { 'hydra.secret': secret },
    connectors: { hydra: allowLoopback(replaceAll(page.file('connectors/hydra.toml'), { 'https://hydra.example.org': issuer })) },
  });
  t.after(hub.stop);
  const authenticate = (browser, form, stopAt) => browser.submit(form, { values: { user: 'jane' }, stopAt });
  const browser = new Browser();
  const { claims, person, idToken } = await hub.signIn('hydra', authenticate, { browser });
  assert.deepEqual([person.name, person.preferred_username, person.email, person.email_verified], ['Jane Doe', 'jane', 'jane@example.org', true]);
  assert.deepEqual(claims.amr.toSorted(), ['hub', 'pwd']);
  const again = await hub.signIn('hydra', authenticate, { browser, more: { prompt: 'login' } });
  assert.deepEqual([again.asked, again.claims.sub], [true, claims.sub]);
  const out = await browser.open(hub.signOutUrl(idToken), { stopAt: hub.postLogoutUri });
  assert.ok(out.url.startsWith(hub.postLogoutUri), `${out.status} ${out.url}\n${out.html}`);
});
