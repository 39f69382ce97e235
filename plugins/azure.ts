/** `auth: { azure: … }`: access tokens of Microsoft Entra ID by client credentials. */
import { json, object, orElse, type RawOf, required, text } from '../engine/config/shape.ts'
import type { Plugin } from '../engine/plugin.ts'
import { formRequest, requestToken } from './access-tokens/token-endpoint.ts'
import { createTokenSigner } from './access-tokens/token-signer.ts'

const SCOPE = 'https://cognitiveservices.azure.com/.default'
const AUTHORITY = 'https://login.microsoftonline.com'

const AZURE = object(
  'Sends access tokens of Microsoft Entra ID, by client credentials.',
  {
    tenant: required(
      text('Id or domain of the tenant.', {
        pattern: '^[A-Za-z0-9.-]+$',
        examples: ['contoso.onmicrosoft.com'],
      }),
    ),
    client: required(
      text('Id of the application.', { minLength: 1, examples: ['${AZURE_CLIENT_ID}'] }),
    ),
    secret: required(
      text('Secret of the application.', {
        minLength: 1,
        format: 'password',
        examples: ['${AZURE_CLIENT_SECRET}'],
      }),
    ),
    scope: orElse(
      text(`What the token is for; default ${SCOPE}.`, { minLength: 1, examples: [SCOPE] }),
      SCOPE,
    ),
    authority: orElse(
      text(`Address of the identity service; default ${AUTHORITY}.`, {
        pattern: '^https?://[^\\s?#]+$',
        examples: ['https://login.microsoftonline.us'],
      }),
      AUTHORITY,
    ),
  },
  {
    examples: [
      {
        tenant: 'contoso.onmicrosoft.com',
        client: '${AZURE_CLIENT_ID}',
        secret: '${AZURE_CLIENT_SECRET}',
      },
    ],
  },
)

export default {
  schema: json('It has no options on a route.', { type: 'object', examples: [{}] }).schema,
  setup: () => ({}),
  auth: {
    schema: AZURE.schema,
    setup: (options: RawOf<typeof AZURE>, host) => {
      const { tenant, client, secret, scope, authority } = AZURE.read(options)
      const url = `${authority.replace(/\/+$/, '')}/${tenant}/oauth2/v2.0/token`
      const form = formRequest({
        grant_type: 'client_credentials',
        client_id: client,
        client_secret: secret,
        scope,
      })
      return createTokenSigner(host, options, () =>
        requestToken(host.request, url, form, [secret, encodeURIComponent(secret)]),
      )
    },
  },
} satisfies Plugin
