// An authorization server nobody here wrote (`oidc-provider`), set up for tests: clients register themselves, PKCE is
// required, refresh tokens are spent by their use, tokens live as long as the test says, and each request is told.
//
// argv: port, the resource it issues tokens for, seconds an access token lives, the path of the package's entry. Prints one
// JSON line per request.
import { createServer } from 'node:http';

const { Provider } = await import(process.argv[5]);

const [port, resource, life] = [Number(process.argv[2]), process.argv[3], Number(process.argv[4])];
const issuer = `http://127.0.0.1:${port}`;

const provider = new Provider(issuer, {
  scopes: ['openid', 'offline_access', 'notes'],
  features: {
    registration: { enabled: true },
    revocation: { enabled: true },
    introspection: { enabled: true, allowedPolicy: () => true },
    devInteractions: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => resource,
      useGrantedResource: () => true,
      getResourceServerInfo: () => ({
        scope: 'notes more', audience: resource, accessTokenFormat: 'opaque', accessTokenTTL: life,
      }),
    },
  },
  clients: [
    { client_id: 'guard', client_secret: 'guard-secret-of-the-resource', redirect_uris: [], response_types: [], grant_types: [] },
    { client_id: 'known-client', token_endpoint_auth_method: 'none', application_type: 'native', redirect_uris: ['http://127.0.0.1/callback'], grant_types: ['authorization_code', 'refresh_token'] },
  ],
  pkce: { required: () => true },
  rotateRefreshToken: () => true,
  issueRefreshToken: async (ctx, client) => client.grantTypeAllowed('refresh_token'),
  ttl: { AccessToken: life, RefreshToken: 3600, Interaction: 600, Session: 600, Grant: 3600 },
});

provider.on('server_error', (ctx, error) => console.error(error));
const serve = provider.callback();
createServer((request, response) => {
  const kept = [];
  request.on('data', (piece) => kept.push(piece));
  response.on('finish', () => {
    const form = new URLSearchParams(Buffer.concat(kept).toString());
    const told = { path: request.url.split('?')[0], grant: form.get('grant_type'), status: response.statusCode };
    console.log(JSON.stringify(told));
  });
  serve(request, response);
}).listen(port, '127.0.0.1', () => console.log(JSON.stringify({ ready: issuer })));
