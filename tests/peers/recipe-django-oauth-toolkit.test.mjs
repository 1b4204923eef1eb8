// docs/recipes/idp-django-oauth-toolkit.md. PYTHON names an interpreter that has python-sp/requirements.txt (tests/install makes one).
import assert from 'node:assert/strict';
import { appendFileSync, writeFileSync } from 'node:fs';
import { generateKeyPairSync } from 'node:crypto';
import path from 'node:path';
import { test } from 'node:test';
import { Browser, IDP_SECRET, freePorts } from './harness.mjs';
import { HUB, createFolder, allowLoopback, readRecipe, replaceAll, startHubForIdp, startProduct, runSuccessfully } from './recipes.mjs';

const python = process.env.PYTHON ?? 'python3';
const PERSON = `from django.contrib.auth.models import User
User.objects.create_user("jane", "jane@example.org", "the-password", first_name="Jane", last_name="Doe")
`;

test('a person of django-oauth-toolkit signs in and out with the files of its recipe', async (t) => {
  const page = readRecipe('idp-django-oauth-toolkit');
  const [port, privatePort, djangoPort] = await freePorts(3);
  const base = `http://localhost:${djangoPort}`;
  const secret = IDP_SECRET;
  const { folder, remove } = createFolder({});
  t.after(remove);
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const env = {
    ...process.env, PYTHONDONTWRITEBYTECODE: '1', PATH: `${path.dirname(python)}${path.delimiter}${process.env.PATH}`, CLIENT_SECRET: secret,
    OIDC_RSA_PRIVATE_KEY: privateKey.export({ type: 'pkcs8', format: 'pem' }),
  };
  await runSuccessfully(python, ['-m', 'django', 'startproject', 'idp', folder], { env });
  const file = (name) => path.join(folder, 'idp', name);
  appendFileSync(file('settings.py'), `\nimport os\nALLOWED_HOSTS = ["localhost", "127.0.0.1"]\n${replaceAll(page.file('settings.py'), { 'https://id.example.org': base })}`);
  for (const name of ['claims.py', 'urls.py']) writeFileSync(file(name), page.file(name));
  await runSuccessfully(python, ['manage.py', 'migrate', '--verbosity', '0'], { cwd: folder, env });
  await runSuccessfully(python, ['manage.py', 'shell', '--verbosity', '0'], { cwd: folder, env, input: PERSON });
  await runSuccessfully('sh', ['-eu', '-c', replaceAll(page.file('register.sh'), { [HUB]: `http://localhost:${port}` })], { cwd: folder, env });
  const django = await startProduct('django', python, ['manage.py', 'runserver', '--noreload', `127.0.0.1:${djangoPort}`], {
    ready: `${base}/o/.well-known/openid-configuration`, cwd: folder, env,
  });
  t.after(django.stop);
  const hub = await startHubForIdp('hub-recipe-django', {
    ports: [port, privatePort], files: { 'django.secret': secret },
    connectors: { django: allowLoopback(replaceAll(page.file('connectors/django.toml'), { 'https://id.example.org': base })) },
  });
  t.after(hub.stop);
  const authenticate = (browser, login, stopAt) => browser.submit(login, { values: { username: 'jane', password: 'the-password' }, stopAt });
  const browser = new Browser();
  const { claims, person, idToken } = await hub.signIn('django', authenticate, { browser });
  assert.deepEqual([person.name, person.preferred_username, person.email], ['Jane Doe', 'jane', 'jane@example.org']);
  assert.deepEqual(claims.amr.toSorted(), ['hub', 'pwd']);
  const again = await hub.signIn('django', authenticate, { browser, more: { prompt: 'login' } });
  assert.equal(again.claims.sub, claims.sub);
  const out = await browser.open(hub.signOutUrl(idToken), { stopAt: hub.postLogoutUri });
  assert.ok(out.url.startsWith(hub.postLogoutUri), `${out.status} ${out.url}\n${out.html}`);
});
