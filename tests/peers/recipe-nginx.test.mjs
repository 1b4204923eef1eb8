// docs/recipes/proxy-nginx.md, by Debian's packages nginx and libnginx-mod-http-js.
import { spawn } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { testClientCertificates } from './client-certificates.mjs';
import { skipUnlessAll } from './harness.mjs';
import { readRecipe, replaceAll } from './recipes.mjs';

const MODULE = '/usr/lib/nginx/modules/ngx_http_js_module.so';
const skip = existsSync(MODULE) ? skipUnlessAll : 'nginx has no JavaScript: apt-get install nginx libnginx-mod-http-js';

testClientCertificates(({ folder, tlsPort, hubPort }) => {
  const page = readRecipe('proxy-nginx');
  const at = (name) => path.join(folder, name);
  writeFileSync(at('client_certificate.js'), page.file('client_certificate.js'));
  const server = replaceAll(page.file('client-certificates.conf'), {
    'listen 443 ssl': `listen 127.0.0.1:${tlsPort} ssl`, '/etc/nginx/tls/mtls.login.example.org': at('localhost'), 'mtls.login.example.org': 'localhost',
    '/etc/nginx/client_certificate.js': at('client_certificate.js'), '127.0.0.1:8080': `127.0.0.1:${hubPort}`,
  });
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${at(name)};`).join(' ');
  writeFileSync(at('nginx.conf'), `load_module ${MODULE};
daemon off; pid ${at('nginx.pid')}; worker_processes 1; error_log stderr; ${process.getuid() === 0 ? 'user root;' : ''}
events {}
http { access_log off; ${temporary}
${server}
}
`);
  return spawn('/usr/sbin/nginx', ['-c', at('nginx.conf')], { stdio: 'ignore' });
}, { skip });
