// `passerelle check connector FILE --online` against a real identity provider: the diagnostics before the first login.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { IDP_CLIENT, IDP_SECRET, freePorts, oidcConnector, program, random, startHub, writeConnector } from './harness.mjs';
import { startIdp } from './real-idp.mjs';

/** The exit code and the report of a file in the hub's folder. */
const check = (folder, file) => new Promise((resolve, reject) => {
  const args = ['check', 'connector', path.join(folder, file), '--config', folder, '--online', '--json'];
  execFile(program, args, (error, stdout, stderr) => {
    const code = error?.code ?? 0;
    try {
      resolve({ code, report: JSON.parse(stdout) });
    } catch {
      reject(new Error(`${code} ${stdout} ${stderr}`));
    }
  });
});

const failed = ({ diagnostics }) => diagnostics.filter(({ status }) => status !== 'ok').map(({ name, status }) => `${name} ${status}`).sort();

test('a real identity provider is examined: well, with a wrong secret, with a slash too many, and by assertion', async () => {
  const [port, privatePort, secretPort, keyPort] = await freePorts(4);
  const idps = [];
  let hub;
  try {
    const common = { clientId: IDP_CLIENT, clientSecret: IDP_SECRET };
    const bySecret = await startIdp({ ...common, port: secretPort, redirectUris: [`http://localhost:${port}/api/v2/callback/good`] });
    idps.push(bySecret);
    const byKey = await startIdp({
      ...common, port: keyPort, redirectUris: [`http://localhost:${port}/api/v2/callback/key`],
      client: { client_secret: undefined, token_endpoint_auth_method: 'private_key_jwt', jwks_uri: `http://localhost:${port}/api/v2/client/jwks` },
    });
    idps.push(byKey);
    hub = await startHub('check', { port, privatePort, sps: [{ id: 'sp', secret: random(), redirectUris: ['http://localhost:1/callback'] }], connectors: { good: oidcConnector(bySecret.issuer) } });

    const good = await check(hub.folder, 'connectors/good.toml');
    assert.deepEqual([good.code, failed(good.report)], [2, ['certificate warning']], JSON.stringify(good.report, null, 1));
    assert.deepEqual(good.report.registration[0], { name: 'redirect_uris', value: `http://localhost:${port}/api/v2/callback/good` });

    const write = (name, content) => writeConnector(hub.folder, path.parse(name).name, content, name);
    write('wrong.toml', oidcConnector(bySecret.issuer));
    writeFileSync(path.join(hub.folder, 'wrong.secret'), 'not the secret');
    const wrong = await check(hub.folder, 'wrong.toml');
    assert.deepEqual([wrong.code, failed(wrong.report)], [1, ['certificate warning', 'client-authentication error']]);

    write('slash.toml', oidcConnector(`${bySecret.issuer}/`));
    const slash = await check(hub.folder, 'slash.toml');
    assert.equal(slash.code, 1);
    assert.match(slash.report.diagnostics.find(({ name }) => name === 'issuer').message, /differs by a trailing slash/);

    write('method.toml', oidcConnector(bySecret.issuer, 'token_endpoint_auth_method = "private_key_jwt"', { secret: '' }));
    assert.deepEqual(failed((await check(hub.folder, 'method.toml')).report), ['certificate warning', 'client-authentication error']);

    write('key.toml', oidcConnector(byKey.issuer, 'token_endpoint_auth_method = "private_key_jwt"', { secret: '' }));
    const key = await check(hub.folder, 'key.toml');
    assert.deepEqual([key.code, failed(key.report)], [2, ['certificate warning']], JSON.stringify(key.report, null, 1));
    assert.ok(key.report.registration.some(({ name }) => name === 'jwks_uri'));

    write('absent.toml', oidcConnector('http://localhost:1'));
    const absent = await check(hub.folder, 'absent.toml');
    assert.deepEqual([absent.code, failed(absent.report)], [1, ['reachable error']]);
  } finally {
    await hub?.stop();
    for (const idp of idps) await idp.close();
  }
});
